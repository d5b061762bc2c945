#pragma once

/// Marks what libarraybridge exports. Everything else in the shared object is hidden.
#if defined(_WIN32)
#if defined(ARRAYBRIDGE_BUILDING_CORE)
#define ARRAYBRIDGE_API __declspec(dllexport)
#else
#define ARRAYBRIDGE_API __declspec(dllimport)
#endif
#else
#define ARRAYBRIDGE_API __attribute__((visibility("default")))
#endif
