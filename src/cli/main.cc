#include "cli/app.h"

int main(int argc, char** argv) {
  return pellucid::cli::run_cli(argc, argv);
}
