//! Headers for host programs, which reset and read the counters of an instrumented kernel.

use warpbound_measure::probes::ProbePlan;
use warpbound_measure::{COUNTERS, CounterKind, InstrumentedKernel, InstrumentedWaves};

/// Returns the names of the counters as string literals of C.
fn names(plan: &ProbePlan, counters: usize) -> Vec<String> {
    let slots = 0..counters;
    slots
        .map(|slot| format!("\"{}\"", plan.counter_name(slot)))
        .collect()
}

/// Returns the initializer of an array with one more element, because C has no empty initializer.
fn initializer(names: &[String]) -> String {
    match names.is_empty() {
        true => "0".to_owned(),
        false => names.join(", "),
    }
}

/// Returns the header for host programs of CUDA.
pub(super) fn of_warps(
    plan: &ProbePlan,
    made: &InstrumentedKernel,
    counters: CounterKind,
) -> String {
    let names: Vec<String> = match counters {
        CounterKind::Probes => names(plan, made.counters),
        CounterKind::Sums => vec![
            "\"instructions x active lanes\"".to_owned(),
            "\"instructions x lanes of a warp\"".to_owned(),
        ],
    };
    format!(
        "/* Counters of {kernel}, code {code}. Load the cubin with cuModuleLoad or cuModuleLoadData, call\n\
        \x20  warpbound_reset before the launches to be measured and warpbound_read after them. */\n\
        #include <cuda.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\n\
        #define WARPBOUND_COUNTERS {count}\n#define WARPBOUND_PLAN UINT64_C(0x{digest:016x})\n\n\
        static const char *const warpbound_names[WARPBOUND_COUNTERS + 1] = {{{names}}};\n\n\
        static CUresult warpbound_reset(CUmodule module)\n{{\n    uint64_t words[WARPBOUND_COUNTERS + 1];\n    CUdeviceptr at;\n\
        \x20   CUresult result = cuModuleGetGlobal(&at, NULL, module, \"{COUNTERS}\");\n\
        \x20   memset(words, 0, sizeof words);\n    words[0] = WARPBOUND_PLAN;\n\
        \x20   return result != CUDA_SUCCESS ? result : cuMemcpyHtoD(at, words, sizeof words);\n}}\n\n\
        /* Writes a file for warpbound decode --counters FILE.csv. */\n\
        static CUresult warpbound_read(CUmodule module, FILE *out)\n{{\n    uint64_t words[WARPBOUND_COUNTERS + 1];\n    CUdeviceptr at;\n\
        \x20   CUresult result = cuModuleGetGlobal(&at, NULL, module, \"{COUNTERS}\");\n\
        \x20   if (result == CUDA_SUCCESS)\n        result = cuMemcpyDtoH(words, at, sizeof words);\n\
        \x20   if (result != CUDA_SUCCESS)\n        return result;\n\
        \x20   fprintf(out, \"code,{code}\\nplan,%016llx\\n\", (unsigned long long)words[0]);\n\
        \x20   for (int i = 0; i < WARPBOUND_COUNTERS; i++)\n        fprintf(out, \"%s,%llu\\n\", warpbound_names[i], (unsigned long long)words[i + 1]);\n\
        \x20   return CUDA_SUCCESS;\n}}\n",
        // A name with this sequence would end the comment.
        kernel = plan.kernel.replace("*/", "* /"),
        code = plan.code,
        count = made.counters,
        digest = made.digest,
        names = initializer(&names),
    )
}

/// Returns the header for host programs of HSA. They find the variable from the address of the kernel's descriptor,
/// which the runtime states: a code object is in memory as a whole, so the distance between the two is fixed.
pub(super) fn of_waves(plan: &ProbePlan, made: &InstrumentedWaves) -> String {
    format!(
        "/* Counters of {kernel}, code {code}. Load the code object with an HSA executable, call warpbound_reset with the\n\
        \x20  symbol of the kernel before the dispatches to be measured, and warpbound_read after they are complete. Each wave\n\
        \x20  counts modulo 2^32. */\n\
        #include <hsa/hsa.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n\n\
        #define WARPBOUND_COUNTERS {count}\n#define WARPBOUND_PLAN UINT64_C(0x{digest:016x})\n\
        /* The first word, which has the number of the plan, less the address of the kernel's descriptor. */\n\
        #define WARPBOUND_PLACE INT64_C({place})\n\n\
        static const char *const warpbound_names[WARPBOUND_COUNTERS + 1] = {{{names}}};\n\n\
        static hsa_status_t warpbound_place(hsa_executable_symbol_t kernel, uint64_t **words)\n{{\n    uint64_t object;\n\
        \x20   hsa_status_t status = hsa_executable_symbol_get_info(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);\n\
        \x20   *words = (uint64_t *)(uintptr_t)(object + (uint64_t)WARPBOUND_PLACE);\n    return status;\n}}\n\n\
        static hsa_status_t warpbound_reset(hsa_executable_symbol_t kernel)\n{{\n    uint64_t words[WARPBOUND_COUNTERS + 1], *at;\n\
        \x20   hsa_status_t status = warpbound_place(kernel, &at);\n\
        \x20   memset(words, 0, sizeof words);\n    words[0] = WARPBOUND_PLAN;\n\
        \x20   return status != HSA_STATUS_SUCCESS ? status : hsa_memory_copy(at, words, sizeof words);\n}}\n\n\
        /* Writes a file for warpbound decode --counters FILE.csv. */\n\
        static hsa_status_t warpbound_read(hsa_executable_symbol_t kernel, FILE *out)\n{{\n    uint64_t words[WARPBOUND_COUNTERS + 1], *at;\n\
        \x20   hsa_status_t status = warpbound_place(kernel, &at);\n\
        \x20   if (status == HSA_STATUS_SUCCESS)\n        status = hsa_memory_copy(words, at, sizeof words);\n\
        \x20   if (status != HSA_STATUS_SUCCESS)\n        return status;\n\
        \x20   fprintf(out, \"code,{code}\\nplan,%016llx\\n\", (unsigned long long)words[0]);\n\
        \x20   for (int i = 0; i < WARPBOUND_COUNTERS; i++)\n        fprintf(out, \"%s,%llu\\n\", warpbound_names[i], (unsigned long long)words[i + 1]);\n\
        \x20   return HSA_STATUS_SUCCESS;\n}}\n",
        kernel = plan.kernel.replace("*/", "* /"),
        code = plan.code,
        count = made.counters,
        digest = made.digest,
        place = made.from_descriptor,
        names = initializer(&names(plan, made.counters)),
    )
}
