#pragma once

/// Everything a program needs to use libarraybridge. A plugin includes `plugin.hpp` besides.

#include "arraybridge/array.hpp"
#include "arraybridge/array_library.hpp"
#include "arraybridge/array_math.hpp"
#include "arraybridge/conversion.hpp"
#include "arraybridge/conversion_record.hpp"
#include "arraybridge/conversion_route.hpp"
#include "arraybridge/device.hpp"
#include "arraybridge/dtype.hpp"
#include "arraybridge/error.hpp"
#include "arraybridge/exchange.hpp"
#include "arraybridge/host_copy.hpp"
#include "arraybridge/legacy.hpp"
#include "arraybridge/managed_tensor.hpp"
#include "arraybridge/manifest.hpp"
#include "arraybridge/registry.hpp"
#include "arraybridge/tensor_view.hpp"
#include "arraybridge/validate.hpp"
#include "arraybridge/version.hpp"
