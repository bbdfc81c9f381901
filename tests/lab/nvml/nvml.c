/* A simulated libnvidia-ml.so.1 for tests, benches and demonstrations.
 *
 * Written from the public ABI (the structures and calls that nvidia-ml-py declares). It plays the scenario file that
 * IODASH_TEST_NVML names: lines of `key value`, read again whenever the file changes. scenario.py documents the keys.
 * Old drivers are variants built with -D: R430, R535, NO_V3, NO_MEMORY_V2, NO_TEMPERATURE_V, NO_GPM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef R430
#define NO_V3
#define NO_MEMORY_V2
#define NO_TEMPERATURE_V
#define NO_GPM
#endif

typedef int nvmlReturn_t;
typedef unsigned int u32;
typedef unsigned long long u64;

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, TIMEOUT = 10,
    VERSION = 25
};

#define GPUS 64
#define MIGS 8
#define HANDLES 4096
#define WINDOW_US 166667ULL
#define RING_WINDOWS 120
#define UNAVAILABLE 0xFFFFFFFFFFFFFFFFULL
#define NO_INSTANCE 0xFFFFFFFFU

typedef struct { int gpu; int mig; int number; } device;
typedef device *nvmlDevice_t;

typedef struct { u32 gpu, memory; } nvmlUtilization_t;
typedef struct { u64 total, free, used; } nvmlMemory_t;
typedef struct { u32 version; u64 total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct { u32 pid; u64 used; } process_v1;
typedef struct { u32 pid; u64 used; u32 gi, ci; } process_v2;
typedef struct { u32 pid; u64 used; u32 gi, ci; u64 protected_bytes; } process_r535;
typedef struct { u32 pid; u64 stamp; u32 sm, mem, enc, dec; } usage_sample;
typedef union { double d; u32 ui; unsigned long ul; u64 ull; long long sll; int si; unsigned short us; } value_t;
typedef struct { u64 stamp; value_t value; } nvmlSample_t;
typedef struct { u32 field, scope; long long stamp, latency; u32 type; nvmlReturn_t result; value_t value; } nvmlFieldValue_t;
typedef struct {
    char legacy[16]; u32 domain, bus, device, pci_id, subsystem; char bus_id[32];
} nvmlPciInfo_t;
typedef struct { u32 version, sensor; int temperature; } nvmlTemperature_t;
typedef struct { char *short_name, *long_name, *unit; } metric_info;
typedef struct { u32 id; nvmlReturn_t result; double value; metric_info info; } nvmlGpmMetric_t;
typedef struct { double at; int gpu, gi; } gpm_sample;
typedef struct { u32 version, count; gpm_sample *first, *second; nvmlGpmMetric_t metrics[]; } nvmlGpmMetricsGet_t;
typedef struct { u32 version, supported; } nvmlGpmSupport_t;
typedef struct { nvmlDevice_t device; u64 type, data; u32 gi, ci; } nvmlEventData_t;
typedef struct { nvmlDevice_t device; long long seen; } event_set;

u32 iodash_test_sizeof(const char *name)
{
#define SIZE(type) if (!strcmp(name, #type)) return sizeof(type)
    SIZE(nvmlUtilization_t); SIZE(nvmlMemory_t); SIZE(nvmlMemory_v2_t); SIZE(process_v2); SIZE(process_r535);
    SIZE(usage_sample); SIZE(nvmlSample_t); SIZE(nvmlFieldValue_t); SIZE(nvmlPciInfo_t); SIZE(nvmlTemperature_t);
    SIZE(nvmlGpmMetric_t); SIZE(nvmlGpmMetricsGet_t); SIZE(nvmlGpmSupport_t); SIZE(nvmlEventData_t);
    return 0;
}

/* ---- time ---- */

static double clock_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static double now_s(void) { return clock_s(CLOCK_MONOTONIC); }
static u64 wall_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (u64)t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

/* ---- the scenario ---- */

#define SLOTS 16384
static struct { char *key, *value; } table[SLOTS];
static char *text;
static struct { double after; char *key, *value; } phases[512];
static int phase_count, phase_next;
static double loaded_first;
static struct stat loaded;

static unsigned hash(const char *key)
{
    unsigned h = 2166136261u;
    for (; *key; key++) h = (h ^ (unsigned char)*key) * 16777619u;
    return h;
}
static void put(char *key, char *value)
{
    unsigned at = hash(key) % SLOTS;
    while (table[at].key && strcmp(table[at].key, key)) at = (at + 1) % SLOTS;
    table[at].key = key;
    table[at].value = value;
}
static const char *get(const char *key)
{
    unsigned at = hash(key) % SLOTS;
    for (; table[at].key; at = (at + 1) % SLOTS)
        if (!strcmp(table[at].key, key)) return table[at].value;
    return NULL;
}
static void parse(void)
{
    memset(table, 0, sizeof table);
    phase_count = phase_next = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *space = strchr(line, ' ');
        if (!space || *line == '#') continue;
        *space = 0;
        char *value = space + 1;
        if (strcmp(line, "phase")) { put(line, value); continue; }
        char *key = strchr(value, ' ');
        char *rest = key ? strchr(key + 1, ' ') : NULL;
        if (!rest || phase_count == 512) continue;
        *key++ = 0;
        *rest++ = 0;
        phases[phase_count].after = atof(value) / 1000;
        phases[phase_count].key = key;
        phases[phase_count++].value = rest;
    }
}
static void reload(void)
{
    const char *path = getenv("IODASH_TEST_NVML");
    struct stat is;
    if (!loaded_first) loaded_first = now_s();
    if (path && !stat(path, &is) && (is.st_ino != loaded.st_ino || is.st_size != loaded.st_size ||
        is.st_mtim.tv_nsec != loaded.st_mtim.tv_nsec || is.st_mtim.tv_sec != loaded.st_mtim.tv_sec)) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            char *fresh = malloc(is.st_size + 1);
            ssize_t got = read(fd, fresh, is.st_size);
            close(fd);
            fresh[got > 0 ? got : 0] = 0;
            free(text);
            text = fresh;
            loaded = is;
            parse();
        }
    }
    while (phase_next < phase_count && now_s() - loaded_first >= phases[phase_next].after) {
        put(phases[phase_next].key, phases[phase_next].value);
        phase_next++;
    }
}
static const char *gpu_value(int gpu, const char *name)
{
    char key[96];
    snprintf(key, sizeof key, "gpu%d.%s", gpu, name);
    const char *value = get(key);
    if (value) return value;
    snprintf(key, sizeof key, "gpu.%s", name);
    return get(key);
}
static double gpu_number(int gpu, const char *name, double otherwise)
{
    const char *value = gpu_value(gpu, name);
    return value ? strtod(value, NULL) : otherwise;
}
static int count(void)
{
    const char *value = get("count");
    return value ? atoi(value) : 1;
}

/* ---- the log, and failures ---- */

static int initialised;
static device handles[HANDLES];
static int handle_count;

static void note(const char *function, int gpu, int handle)
{
    static int fd = -1;
    static char path[4096];
    const char *wanted = getenv("IODASH_TEST_NVML_LOG");
    if (!wanted) return;
    if (fd < 0 || strcmp(path, wanted)) {
        if (fd >= 0) close(fd);
        snprintf(path, sizeof path, "%s", wanted);
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    }
    char line[160];
    int length = snprintf(line, sizeof line, "%.6f %d %s %d %d\n", now_s(), (int)getpid(), function, gpu, handle);
    if (fd >= 0 && write(fd, line, length) < 0) return;
}
static const char *rule(const char *kind, int gpu, const char *function)
{
    char key[160], plain[96];
    snprintf(plain, sizeof plain, "%s", function);
    char *suffix = strrchr(plain, '_');
    if (suffix && suffix[1] == 'v') *suffix = 0;
    const char *found = NULL;
    if (gpu >= 0) {
        snprintf(key, sizeof key, "%s%d.%s", kind, gpu, plain);
        found = get(key);
        if (!found) { snprintf(key, sizeof key, "%s%d.*", kind, gpu); found = get(key); }
    }
    if (!found) { snprintf(key, sizeof key, "%s.%s", kind, plain); found = get(key); }
    return found;
}
static nvmlReturn_t enter(const char *function, int gpu, int handle)
{
    reload();
    note(function, gpu, handle);
    const char *value = rule("delay_us", gpu, function);
    if (value) usleep(atoi(value));
    while ((value = rule("hang", gpu, function)) && atoi(value)) {
        usleep(10000);
        reload();
    }
    value = rule("fail", gpu, function);
    if (value && atoi(value)) return atoi(value);
    if (!initialised && strcmp(function, "nvmlInitWithFlags")) return UNINITIALIZED;
    return SUCCESS;
}
#define ENTER() do { nvmlReturn_t r = enter(__func__, -1, -1); if (r) return r; } while (0)
#define ENTER_DEVICE(d) do { if (!(d)) return INVALID; \
    nvmlReturn_t r = enter(__func__, (d)->gpu, (d)->number); if (r) return r; } while (0)
#define NO_MIG(d) do { if ((d)->mig >= 0) return NOT_SUPPORTED; } while (0)

/* ---- live trainers: see busy.py for the layout ---- */

#define POSTERS 64
#define INTERVALS 512
typedef struct { double start, end; } interval;
typedef struct {
    int gpu, pid; u64 bytes, head, received; char pad[32]; interval ring[INTERVALS];
} poster;
static struct { char magic[8]; char pad[56]; poster posters[POSTERS]; } *live;

static void look_live(void)
{
    static char path[4096];
    const char *wanted = get("busy");
    if (!wanted || (live && !strcmp(path, wanted))) return;
    int fd = open(wanted, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *live, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return;
    live = at;
    snprintf(path, sizeof path, "%s", wanted);
}
static int alive(const poster *p) { return p->pid > 0 && (!kill(p->pid, 0) || errno == EPERM); }
static int compare(const void *a, const void *b)
{
    double x = ((const interval *)a)->start, y = ((const interval *)b)->start;
    return (x > y) - (x < y);
}
/* Seconds of [from, to] in which a kernel of any (or of one) poster ran. */
static double live_busy(int gpu, const poster *only, double from, double to)
{
    static interval found[POSTERS * INTERVALS];
    int n = 0;
    for (int i = 0; live && i < POSTERS; i++) {
        const poster *p = &live->posters[i];
        if (p->pid <= 0 || p->gpu != gpu || (only && p != only)) continue;
        u64 head = p->head;
        for (u64 k = 0; k < INTERVALS && k < head; k++) {
            interval it = p->ring[(head - 1 - k) % INTERVALS];
            if (it.end == 0) it.end = alive(p) ? now_s() : it.start;
            if (it.end <= from) break;
            if (it.start < to) found[n++] = it;
        }
    }
    qsort(found, n, sizeof *found, compare);
    double busy = 0, reached = from;
    for (int i = 0; i < n; i++) {
        double start = found[i].start > reached ? found[i].start : reached;
        double end = found[i].end < to ? found[i].end : to;
        if (end > start) { busy += end - start; reached = end; }
    }
    return busy;
}
static int has_live(int gpu)
{
    look_live();
    for (int i = 0; live && i < POSTERS; i++)
        if (live->posters[i].gpu == gpu && alive(&live->posters[i])) return 1;
    return 0;
}
/* Percent of [from, to] (monotonic seconds) that the GPU was busy. */
static double busy_percent(int gpu, double from, double to)
{
    if (has_live(gpu)) return 100 * live_busy(gpu, NULL, from, to) / (to - from);
    const char *pattern = gpu_value(gpu, "pattern");
    double period = 0, busy = 0, phase = 0;
    if (pattern && sscanf(pattern, "%lf %lf %lf", &period, &busy, &phase) >= 2 && period > 0) {
        double total = 0, step = (to - from) / 16;
        for (int i = 0; i < 16; i++) {
            double at = (from + (i + 0.5) * step) * 1000 + phase;
            at -= period * (long long)(at / period);
            total += at < busy;
        }
        return 100 * total / 16;
    }
    return gpu_number(gpu, "util", 0);
}
static double window_percent(int gpu, u64 end_us)
{
    double end = now_s() - (wall_us() - end_us) / 1e6;
    return busy_percent(gpu, end - WINDOW_US / 1e6, end);
}
static double watts(int gpu, double from, double to)
{
    double fixed = gpu_number(gpu, "power_mw", -1);
    if (fixed >= 0) return fixed / 1000;
    double idle = gpu_number(gpu, "idle_mw", 70000) / 1000, limit = gpu_number(gpu, "limit_mw", 700000) / 1000;
    double percent = busy_percent(gpu, from, to);
    return idle + (0.9 * limit - idle) * (percent > 100 ? 100 : percent) / 100;
}

/* ---- library ---- */

nvmlReturn_t nvmlInitWithFlags(u32 flags)
{
    (void)flags;
    ENTER();
    initialised++;
    return SUCCESS;
}
nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlShutdown(void)
{
    ENTER();
    if (initialised) initialised--;
    return SUCCESS;
}
const char *nvmlErrorString(nvmlReturn_t code)
{
    static char words[32];
    snprintf(words, sizeof words, "simulated error %d", code);
    return words;
}
static nvmlReturn_t copy(char *to, u32 length, const char *from)
{
    if (strlen(from) + 1 > length) return SMALL;
    strcpy(to, from);
    return SUCCESS;
}
static const char *word(const char *key, const char *otherwise)
{
    const char *value = get(key);
    return value ? value : otherwise;
}
nvmlReturn_t nvmlSystemGetDriverVersion(char *to, u32 length)
{
    ENTER();
    return copy(to, length, word("driver", "570.124.06"));
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char *to, u32 length)
{
    ENTER();
    return copy(to, length, word("nvml", "12.570.124.06"));
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *to)
{
    ENTER();
    *to = 12080;
    return SUCCESS;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *to) { return nvmlSystemGetCudaDriverVersion(to); }

/* ---- devices ---- */

static const char *uuid_of(int gpu)
{
    static char made[64];
    const char *given = gpu_value(gpu, "uuid");
    if (given) return given;
    snprintf(made, sizeof made, "GPU-00000000-0000-0000-0000-%012d", gpu);
    return made;
}
static void bus_of(int gpu, char *to, size_t length)
{
    const char *given = gpu_value(gpu, "bus");
    if (given) snprintf(to, length, "%s", given);
    else snprintf(to, length, "00000000:%02X:00.0", 0x10 + gpu);
}
static nvmlReturn_t hand_out(int gpu, int mig, nvmlDevice_t *to)
{
    device *d = &handles[handle_count++ % HANDLES];
    d->gpu = gpu;
    d->mig = mig;
    d->number = handle_count;
    *to = d;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount_v2(u32 *to)
{
    ENTER();
    *to = count();
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(u32 index, nvmlDevice_t *to)
{
    nvmlReturn_t r = enter(__func__, (int)index, -1);
    if (r) return r;
    return (int)index < count() ? hand_out((int)index, -1, to) : INVALID;
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *to)
{
    int gpu = -1;
    reload();
    for (int i = 0; i < count(); i++) if (!strcmp(uuid, uuid_of(i))) gpu = i;
    nvmlReturn_t r = enter(__func__, gpu, -1);
    if (r) return r;
    return gpu >= 0 ? hand_out(gpu, -1, to) : NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *to)
{
    char known[64];
    int gpu = -1;
    reload();
    for (int i = 0; i < count(); i++) {
        bus_of(i, known, sizeof known);
        const char *end = strlen(known) > 12 && strlen(bus) <= 12 ? known + strlen(known) - 12 : known;
        if (!strcasecmp(end, bus)) gpu = i;
    }
    nvmlReturn_t r = enter(__func__, gpu, -1);
    if (r) return r;
    return gpu >= 0 ? hand_out(gpu, -1, to) : NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t d, u32 *to)
{
    ENTER_DEVICE(d);
    *to = d->gpu;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, u32 *to)
{
    ENTER_DEVICE(d);
    NO_MIG(d);
    *to = (u32)gpu_number(d->gpu, "minor", d->gpu);
    return SUCCESS;
}
static int mig_row(const device *d, char *profile, u64 *total, u64 *used, u32 *gi, u32 *ci, char *uuid)
{
    char key[32];
    snprintf(key, sizeof key, "mig%d", d->mig);
    const char *row = gpu_value(d->gpu, key);
    return row && sscanf(row, "%63s %llu %llu %u %u %95s", profile, total, used, gi, ci, uuid) == 6;
}
#define MIG_ROW(d) char profile[64], uuid[96]; u64 total = 0, used = 0; u32 gi = 0, ci = 0; \
    if (!mig_row(d, profile, &total, &used, &gi, &ci, uuid)) return NOT_FOUND
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *to, u32 length)
{
    ENTER_DEVICE(d);
    const char *name = gpu_value(d->gpu, "name");
    char full[96];
    if (!name) name = "NVIDIA H200";
    if (d->mig < 0) return copy(to, length, name);
    MIG_ROW(d);
    snprintf(full, sizeof full, "%s MIG %s", name, profile);
    return copy(to, length, full);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *to, u32 length)
{
    ENTER_DEVICE(d);
    if (d->mig < 0) return copy(to, length, uuid_of(d->gpu));
    MIG_ROW(d);
    return copy(to, length, uuid);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *to)
{
    ENTER_DEVICE(d);
    NO_MIG(d);
    memset(to, 0, sizeof *to);
    bus_of(d->gpu, to->bus_id, sizeof to->bus_id);
    snprintf(to->legacy, sizeof to->legacy, "%.15s", to->bus_id + 4);
    to->bus = 0x10 + d->gpu;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *to)
{
    ENTER_DEVICE(d);
    if (d->mig >= 0 || gpu_number(d->gpu, "mig", 0)) return NOT_SUPPORTED;
    double percent = window_percent(d->gpu, wall_us() / WINDOW_US * WINDOW_US);
    to->gpu = (u32)(percent + 0.5);
    to->memory = (u32)gpu_number(d->gpu, "memutil", percent / 2);
    return SUCCESS;
}

/* ---- processes ---- */

typedef struct { u32 pid; u64 bytes; u32 gi, ci; int sm, mem; } entry;

static int entries(const device *d, const char *kind, entry *to, int most)
{
    int n = 0;
    for (int i = 0; i < most; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s%d", kind, i);
        const char *row = gpu_value(d->gpu, key);
        if (!row) break;
        entry e = {0, 0, NO_INSTANCE, NO_INSTANCE, 0, 0};
        long long bytes = 0;
        long pid = 0;
        if (sscanf(row, "%ld %lld %u %u %d %d", &pid, &bytes, &e.gi, &e.ci, &e.sm, &e.mem) < 2) continue;
        e.pid = (u32)pid;
        e.bytes = bytes < 0 ? UNAVAILABLE : (u64)bytes;
        if (d->mig >= 0) {
            char profile[64], uuid[96];
            u64 total, used;
            u32 gi, ci;
            if (!mig_row(d, profile, &total, &used, &gi, &ci, uuid) || gi != e.gi) continue;
        }
        to[n++] = e;
    }
    look_live();
    for (int i = 0; live && !strcmp(kind, "proc") && d->mig < 0 && i < POSTERS && n < most; i++) {
        const poster *p = &live->posters[i];
        if (p->gpu != d->gpu || !alive(p)) continue;
        double to_s = now_s();
        to[n++] = (entry){(u32)p->pid, p->bytes, NO_INSTANCE, NO_INSTANCE,
                          (int)(100 * live_busy(d->gpu, p, to_s - 0.5, to_s) / 0.5 + 0.5), 0};
    }
    return n;
}
#define MOST 1024
static nvmlReturn_t list(const device *d, const char *kind, u32 *size, void *to, size_t record)
{
    static entry found[MOST];
    int n = entries(d, kind, found, MOST);
    if (!n) { *size = 0; return SUCCESS; }
    if ((int)*size < n || !to) { *size = n; return SMALL; }
    for (int i = 0; i < n; i++) {
        process_r535 row = {found[i].pid, found[i].bytes, found[i].gi, found[i].ci, 0};
        memcpy((char *)to + i * record, &row, record);
    }
    *size = n;
    return SUCCESS;
}
#define LIST(name, kind, type) nvmlReturn_t name(nvmlDevice_t d, u32 *size, void *to) \
    { ENTER_DEVICE(d); return list(d, kind, size, to, sizeof(type)); }
LIST(nvmlDeviceGetComputeRunningProcesses, "proc", process_v1)
LIST(nvmlDeviceGetGraphicsRunningProcesses, "gproc", process_v1)
#ifndef R430
LIST(nvmlDeviceGetComputeRunningProcesses_v2, "proc", process_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, "gproc", process_v2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mproc", process_v2)
#endif
#ifndef NO_V3
#ifdef R535
#define V3 process_r535
#else
#define V3 process_v2
#endif
LIST(nvmlDeviceGetComputeRunningProcesses_v3, "proc", V3)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, "gproc", V3)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mproc", V3)
#endif
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t d, usage_sample *to, u32 *size, u64 since)
{
    ENTER_DEVICE(d);
    if (d->mig >= 0 || gpu_number(d->gpu, "mig", 0)) return NOT_SUPPORTED;
    static usage_sample found[2 * MOST];
    static entry listed[MOST];
    u32 n = 0;
    u64 window = wall_us() / WINDOW_US * WINDOW_US;
    char key[32];
    const char *row;
    for (int i = 0; i < MOST; i++) {
        snprintf(key, sizeof key, "usage%d", i);
        if (!(row = gpu_value(d->gpu, key))) break;
        usage_sample u = {0};
        u64 stamp = 0;
        if (sscanf(row, "%u %u %u %llu", &u.pid, &u.sm, &u.mem, &stamp) < 2) continue;
        u.stamp = stamp ? stamp : window;
        if (u.stamp > since || gpu_number(d->gpu, "stamps_back", 0)) found[n++] = u;
    }
    if (!n && !gpu_value(d->gpu, "usage0")) {
        int listed_count = entries(d, "proc", listed, MOST);
        for (int i = 0; i < listed_count; i++)
            if (listed[i].sm > 0 && window > since)
                found[n++] = (usage_sample){listed[i].pid, window, listed[i].sm, listed[i].mem, 0, 0};
    }
    if (!n) return NOT_FOUND;
    if (*size < n || !to) { *size = n; return SMALL; }
    memcpy(to, found, n * sizeof *to);
    *size = n;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t d, u32 type, u64 since, u32 *value_type, u32 *size, nvmlSample_t *to)
{
    ENTER_DEVICE(d);
    if (type != 1 || d->mig >= 0 || gpu_number(d->gpu, "mig", 0)) return NOT_SUPPORTED;
    *value_type = 1;
    static nvmlSample_t found[256];
    u32 n = 0;
    const char *given = gpu_value(d->gpu, "samples");
    if (given) {
        u64 stamp;
        unsigned percent;
        int used;
        for (; n < 256 && sscanf(given, " %llu:%u%n", &stamp, &percent, &used) == 2; given += used)
            if (stamp > since) { found[n].stamp = stamp; found[n].value.ull = 0; found[n++].value.ui = percent; }
    } else {
        long long shift = (long long)gpu_number(d->gpu, "stamp_shift_us", 0);
        u64 last = wall_us() / WINDOW_US;
        for (u64 k = last - RING_WINDOWS + 1; k <= last; k++) {
            u64 stamp = k * WINDOW_US + shift;
            if (stamp <= since) continue;
            found[n].stamp = stamp;
            found[n].value.ull = 0;
            found[n++].value.ui = (u32)(window_percent(d->gpu, k * WINDOW_US) + 0.5);
        }
    }
    if (!n) return NOT_FOUND;
    if (to) memcpy(to, found, (n < *size ? n : *size) * sizeof *to);
    *size = to && *size < n ? *size : n;
    return SUCCESS;
}

/* ---- gauges ---- */

static u64 used_bytes(nvmlDevice_t d)
{
    static entry found[MOST];
    const char *given = gpu_value(d->gpu, "memused");
    if (given) return strtoull(given, NULL, 10);
    u64 sum = 0;
    int n = entries(d, "proc", found, MOST);
    for (int i = 0; i < n; i++) if (found[i].bytes != UNAVAILABLE) sum += found[i].bytes;
    return sum;
}
static nvmlReturn_t memory(nvmlDevice_t d, u64 *all, u64 *taken)
{
    if (d->mig >= 0) {
        MIG_ROW(d);
        *all = total;
        *taken = used;
        return SUCCESS;
    }
    const char *given = gpu_value(d->gpu, "memtotal");
    *all = given ? strtoull(given, NULL, 10) : 141ULL << 30;
    *taken = used_bytes(d);
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *to)
{
    ENTER_DEVICE(d);
    u64 reserved = (u64)gpu_number(d->gpu, "memreserved", 0);
    nvmlReturn_t r = memory(d, &to->total, &to->used);
    to->used += reserved;
    to->free = to->total - to->used;
    return r;
}
#ifndef NO_MEMORY_V2
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *to)
{
    ENTER_DEVICE(d);
    if (to->version != (sizeof *to | 2 << 24)) return VERSION;
    to->reserved = (u64)gpu_number(d->gpu, "memreserved", 0);
    nvmlReturn_t r = memory(d, &to->total, &to->used);
    to->free = to->total - to->used - to->reserved;
    return r;
}
#endif
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, u32 *to)
{
    ENTER_DEVICE(d);
    NO_MIG(d);
    double now = now_s();
    *to = (u32)(watts(d->gpu, now - 1, now) * 1000);
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, u64 *to)
{
    static struct { double at, mj; } spent[GPUS];
    ENTER_DEVICE(d);
    NO_MIG(d);
    const char *given = gpu_value(d->gpu, "energy_mj");
    if (given) { *to = strtoull(given, NULL, 10); return SUCCESS; }
    double now = now_s();
    if (!spent[d->gpu].at) { spent[d->gpu].at = now; spent[d->gpu].mj = 5e9; }
    if (now > spent[d->gpu].at + 1e-4) {
        spent[d->gpu].mj += 1000 * watts(d->gpu, spent[d->gpu].at, now) * (now - spent[d->gpu].at);
        spent[d->gpu].at = now;
    }
    *to = (u64)spent[d->gpu].mj;
    return SUCCESS;
}
static u32 temperature(int gpu)
{
    return (u32)gpu_number(gpu, "temp", 35 + 0.3 * busy_percent(gpu, now_s() - 2, now_s()));
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, u32 sensor, u32 *to)
{
    ENTER_DEVICE(d);
    (void)sensor;
    NO_MIG(d);
    *to = temperature(d->gpu);
    return SUCCESS;
}
#ifndef NO_TEMPERATURE_V
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_t *to)
{
    ENTER_DEVICE(d);
    NO_MIG(d);
    if (to->version != (sizeof *to | 1 << 24)) return VERSION;
    to->temperature = (int)temperature(d->gpu);
    return SUCCESS;
}
#endif
#define NUMBER(function, name, otherwise) nvmlReturn_t function(nvmlDevice_t d, u32 *to) \
    { ENTER_DEVICE(d); NO_MIG(d); *to = (u32)gpu_number(d->gpu, name, otherwise); return SUCCESS; }
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "limit_mw", 700000)
NUMBER(nvmlDeviceGetPowerManagementLimit, "limit_mw", 700000)
NUMBER(nvmlDeviceGetFanSpeed, "fan", 0)
NUMBER(nvmlDeviceGetPerformanceState, "pstate", 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_gen", 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", 16)
NUMBER(nvmlDeviceGetComputeMode, "compute_mode", 0)
NUMBER(nvmlDeviceGetDisplayActive, "display", 0)
NUMBER(nvmlDeviceGetPersistenceMode, "persistence", 1)
static nvmlReturn_t clock_of(nvmlDevice_t d, u32 type, u32 *to)
{
    NO_MIG(d);
    if (type > 3) return INVALID;
    *to = type == 2 ? (u32)gpu_number(d->gpu, "mem_clock", 3201) : (u32)gpu_number(d->gpu, "sm_clock", 1980);
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, u32 type, u32 *to) { ENTER_DEVICE(d); return clock_of(d, type, to); }
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, u32 type, u32 *to) { ENTER_DEVICE(d); return clock_of(d, type, to); }
static nvmlReturn_t codec(nvmlDevice_t d, const char *name, u32 *to, u32 *period)
{
    NO_MIG(d);
    *to = (u32)gpu_number(d->gpu, name, 0);
    *period = 166667;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t d, u32 *to, u32 *us) { ENTER_DEVICE(d); return codec(d, "enc", to, us); }
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t d, u32 *to, u32 *us) { ENTER_DEVICE(d); return codec(d, "dec", to, us); }
static nvmlReturn_t reasons(nvmlDevice_t d, u64 *to)
{
    NO_MIG(d);
    double now = now_s();
    *to = (u64)gpu_number(d->gpu, "throttle", busy_percent(d->gpu, now - 0.2, now) < 1 ? 1 : 0);
    return SUCCESS;
}
#ifndef R430
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, u64 *to) { ENTER_DEVICE(d); return reasons(d, to); }
#endif
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, u64 *to) { ENTER_DEVICE(d); return reasons(d, to); }
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, u32 type, u32 counter, u64 *to)
{
    ENTER_DEVICE(d);
    (void)type;
    (void)counter;
    NO_MIG(d);
    const char *errors = gpu_value(d->gpu, "ecc");
    *to = errors ? strtoull(errors, NULL, 10) : 0;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDriverModel(nvmlDevice_t d, u32 *current, u32 *pending)
{
    ENTER_DEVICE(d);
    (void)current;
    (void)pending;
    return NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t d, u32 direction, u32 *to)
{
    ENTER_DEVICE(d);
    NO_MIG(d);
    usleep(20000);
    *to = (u32)gpu_number(d->gpu, direction ? "pcie_rx_kb" : "pcie_tx_kb", 0);
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *values)
{
    ENTER_DEVICE(d);
    NO_MIG(d);
    for (int i = 0; i < n; i++) {
        char key[48];
        nvmlFieldValue_t *v = &values[i];
        snprintf(key, sizeof key, "field%u", v->field);
        const char *fixed = gpu_value(d->gpu, key);
        snprintf(key, sizeof key, "field%u_rate", v->field);
        const char *rate = gpu_value(d->gpu, key);
        snprintf(key, sizeof key, "field%u_type", v->field);
        v->type = (u32)gpu_number(d->gpu, key, 3);
        v->stamp = (long long)wall_us();
        v->result = SUCCESS;
        v->value.ull = 0;
        if (fixed) v->value.ull = strtoull(fixed, NULL, 10);
        else if (rate) v->value.ull = (u64)(strtod(rate, NULL) * now_s());
        else if (v->field == 198 && has_live(d->gpu)) {
            for (int p = 0; p < POSTERS; p++)
                if (live->posters[p].gpu == d->gpu) v->value.ull += live->posters[p].received;
        } else v->result = NOT_SUPPORTED;
    }
    return SUCCESS;
}

/* ---- MIG ---- */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, u32 *current, u32 *pending)
{
    ENTER_DEVICE(d);
    if (!gpu_value(d->gpu, "mig")) return NOT_SUPPORTED;
    *current = *pending = (u32)gpu_number(d->gpu, "mig", 0);
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, u32 *to)
{
    ENTER_DEVICE(d);
    *to = gpu_value(d->gpu, "mig") ? MIGS : 0;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, u32 index, nvmlDevice_t *to)
{
    ENTER_DEVICE(d);
    device probe = {d->gpu, (int)index, 0};
    MIG_ROW(&probe);
    return hand_out(d->gpu, (int)index, to);
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, u32 *to)
{
    ENTER_DEVICE(d);
    MIG_ROW(d);
    *to = gi;
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, u32 *to)
{
    ENTER_DEVICE(d);
    MIG_ROW(d);
    *to = ci;
    return SUCCESS;
}

/* ---- GPM ---- */

#ifndef NO_GPM
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t d, nvmlGpmSupport_t *to)
{
    ENTER_DEVICE(d);
    to->supported = (u32)gpu_number(d->gpu, "gpm", 0);
    return SUCCESS;
}
nvmlReturn_t nvmlGpmSampleAlloc(gpm_sample **to)
{
    ENTER();
    *to = calloc(1, sizeof **to);
    return SUCCESS;
}
nvmlReturn_t nvmlGpmSampleFree(gpm_sample *sample)
{
    ENTER();
    free(sample);
    return SUCCESS;
}
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t d, gpm_sample *sample)
{
    ENTER_DEVICE(d);
    *sample = (gpm_sample){now_s(), d->gpu, -1};
    return SUCCESS;
}
nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t d, u32 gi, gpm_sample *sample)
{
    ENTER_DEVICE(d);
    *sample = (gpm_sample){now_s(), d->gpu, (int)gi};
    return SUCCESS;
}
nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *to)
{
    nvmlReturn_t r = enter(__func__, to->second->gpu, -1);
    if (r) return r;
    for (u32 i = 0; i < to->count; i++) {
        nvmlGpmMetric_t *m = &to->metrics[i];
        char key[48];
        int gpu = to->second->gpu;
        if (to->second->gi >= 0) snprintf(key, sizeof key, "gpm%u_gi%d", m->id, to->second->gi);
        else snprintf(key, sizeof key, "gpm%u", m->id);
        const char *fixed = gpu_value(gpu, key);
        m->result = SUCCESS;
        if (to->second->at - to->first->at < 0.099) m->result = NOT_FOUND;
        else if (fixed) m->value = strtod(fixed, NULL);
        else if (m->id <= 2 && to->second->gi < 0) m->value = 0.9 * busy_percent(gpu, to->first->at, to->second->at);
        else m->result = NOT_SUPPORTED;
    }
    return SUCCESS;
}
#endif

/* ---- events ---- */

nvmlReturn_t nvmlEventSetCreate(event_set **to)
{
    ENTER();
    *to = calloc(1, sizeof **to);
    return SUCCESS;
}
nvmlReturn_t nvmlEventSetFree(event_set *set)
{
    ENTER();
    free(set);
    return SUCCESS;
}
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, u64 types, event_set *set)
{
    ENTER_DEVICE(d);
    (void)types;
    set->device = d;
    return SUCCESS;
}
nvmlReturn_t nvmlEventSetWait_v2(event_set *set, nvmlEventData_t *to, u32 timeout_ms)
{
    nvmlReturn_t r = enter(__func__, set->device ? set->device->gpu : -1, -1);
    if (r) return r;
    long long xid = set->device ? (long long)gpu_number(set->device->gpu, "xid", 0) : 0;
    if (!xid || xid == set->seen) {
        usleep(1000 * timeout_ms);
        return TIMEOUT;
    }
    set->seen = xid;
    *to = (nvmlEventData_t){set->device, 8, (u64)xid, NO_INSTANCE, NO_INSTANCE};
    return SUCCESS;
}
