// manifest_check FILE...: says of each file whether it is a manifest, and if not, why. Exit status 1 if any is not.

#include <arraybridge/error.hpp>
#include <arraybridge/manifest.hpp>
#include <cstdio>

int main(int count, char** arguments) {
    bool all_good = true;
    for (int i = 1; i < count; ++i) {
        try {
            arraybridge::Manifest::read(arguments[i]);
            std::printf("ok\t%s\n", arguments[i]);
        } catch (const arraybridge::ManifestError& error) {
            std::printf("bad\t%s\t%s\n", arguments[i], error.what());
            all_good = false;
        }
    }
    return all_good ? 0 : 1;
}
