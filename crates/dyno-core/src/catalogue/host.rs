//! The host: Linux's counters, and facts that identify the machine.

define! {
    one Gauge "percent" from "/proc/stat" {
        HOST_CPU_USER = "host.cpu.user": "CPU time of programs, of all CPUs";
        HOST_CPU_NICE = "host.cpu.nice": "CPU time of programs with a lower priority";
        HOST_CPU_SYSTEM = "host.cpu.system": "CPU time of the kernel";
        HOST_CPU_IDLE = "host.cpu.idle": "idle time";
        HOST_CPU_IOWAIT = "host.cpu.iowait": "idle time while a disk request was outstanding";
        HOST_CPU_IRQ = "host.cpu.irq": "CPU time of hardware interrupts";
        HOST_CPU_SOFTIRQ = "host.cpu.softirq": "CPU time of soft interrupts";
        HOST_CPU_STEAL = "host.cpu.steal":
            "time that the hypervisor used for other work";
        HOST_CPU_ACCOUNTED = "host.cpu.accounted": "the sum of the CPU times above, about 100";
    }
    one Gauge "count" from "/proc/stat" {
        HOST_RUN_QUEUE = "host.run_queue": "threads that run or wait for a CPU";
        HOST_BLOCKED = "host.blocked": "threads that wait for a disk";
    }
    one Gauge "count" from "/proc/loadavg" {
        HOST_LOAD1 = "host.load1": "one-minute load average";
    }
    one Rate "count/s" from "/proc/stat" {
        HOST_CONTEXT_SWITCHES = "host.context_switches": "context switches";
        HOST_INTERRUPTS = "host.interrupts": "interrupts";
        HOST_FORKS = "host.forks": "processes and threads created";
    }
    one Gauge "bytes" from "/proc/meminfo" {
        HOST_MEMORY_TOTAL = "host.memory.total": "memory; also a fact";
        HOST_MEMORY_FREE = "host.memory.free": "unused memory";
        HOST_MEMORY_AVAILABLE = "host.memory.available": "memory available to programs";
        HOST_MEMORY_CACHED = "host.memory.cached": "file cache";
        HOST_MEMORY_BUFFERS = "host.memory.buffers": "cache of block devices";
        HOST_MEMORY_DIRTY = "host.memory.dirty": "changed pages that are not yet being written";
        HOST_MEMORY_WRITEBACK = "host.memory.writeback": "pages that are being written";
        HOST_MEMORY_ANON = "host.memory.anon": "memory of programs not backed by a file";
        HOST_MEMORY_SLAB_RECLAIMABLE = "host.memory.slab_reclaimable": "kernel caches";
        HOST_MEMORY_SLAB_UNRECLAIMABLE = "host.memory.slab_unreclaimable": "other kernel memory";
        HOST_MEMORY_SWAP_TOTAL = "host.memory.swap_total": "swap space";
        HOST_MEMORY_SWAP_FREE = "host.memory.swap_free": "unused swap space";
    }
    one Gauge "count" from "/proc/sys/fs" {
        HOST_FILES_DENTRIES = "host.files.dentries": "cached directory entries";
        HOST_FILES_INODES = "host.files.inodes": "cached inodes";
        HOST_FILES_OPEN = "host.files.open": "open files";
    }
    one Rate "bytes/s" from "/proc/vmstat" {
        HOST_SWAP_IN = "host.swap.in": "read from swap";
        HOST_SWAP_OUT = "host.swap.out": "written to swap";
    }
    one Rate "count/s" from "/proc/vmstat" {
        HOST_PAGE_FAULTS_MAJOR = "host.page_faults.major": "page faults that read a disk";
    }
    one Gauge "count" from "/proc/vmstat" {
        HOST_OOM_KILLS = "host.oom_kills": "processes killed for lack of memory since the boot";
    }
    one Rate "percent" from "/proc/pressure" {
        HOST_PRESSURE_CPU_SOME = "host.pressure.cpu.some": "time in which a task waited for a CPU";
        HOST_PRESSURE_CPU_FULL = "host.pressure.cpu.full":
            "time in which all tasks waited for a CPU";
        HOST_PRESSURE_IO_SOME = "host.pressure.io.some": "time in which a task waited for a disk";
        HOST_PRESSURE_IO_FULL = "host.pressure.io.full":
            "time in which all tasks waited for a disk";
        HOST_PRESSURE_MEMORY_SOME = "host.pressure.memory.some":
            "time in which a task waited for memory";
        HOST_PRESSURE_MEMORY_FULL = "host.pressure.memory.full":
            "time in which all tasks waited for memory";
    }
    one Rate "count/s" from "/proc/net/snmp" {
        HOST_TCP_RETRANSMITS = "host.tcp.retransmits": "TCP segments retransmitted";
        HOST_TCP_OUT_SEGMENTS = "host.tcp.out_segments": "TCP segments sent";
    }
    one Rate "count/s" from "/proc/net/netstat" {
        HOST_TCP_LISTEN_OVERFLOWS = "host.tcp.listen_overflows":
            "connections that found the listen queue full";
        HOST_TCP_DELAYED_ACKS = "host.tcp.delayed_acks":
            "delayed acknowledgements, sent without data";
    }
    one Gauge "percent" from "cpu.stat" {
        HOST_CGROUP_CPU_THROTTLED = "host.cgroup.cpu_throttled":
            "periods of the CPU quota in which Dyno's control group was throttled";
    }
    one Gauge "bytes" from "memory.current, memory.max; version 1: memory.usage_in_bytes, …" {
        HOST_CGROUP_MEMORY_CURRENT = "host.cgroup.memory_current": "memory of the control group";
        HOST_CGROUP_MEMORY_LIMIT = "host.cgroup.memory_limit": "memory limit of the control group";
    }
    one Gauge "mhz" from "scaling_cur_freq of up to 64 CPUs, every 5th sample" {
        HOST_CPU_FREQUENCY_MIN = "host.cpu_frequency.min": "frequency of the slowest CPU";
        HOST_CPU_FREQUENCY_MEAN = "host.cpu_frequency.mean": "mean frequency";
        HOST_CPU_FREQUENCY_MAX = "host.cpu_frequency.max": "frequency of the fastest CPU";
    }
    one Gauge "bytes" from "statvfs, every 5th sample" {
        HOST_FILESYSTEM_FREE = "host.filesystem.free":
            "free space where the data directory is, else where the results file is";
        HOST_FILESYSTEM_SIZE = "host.filesystem.size":
            "size of the file system of `host.filesystem.free`";
    }
    one Gauge "ms" from "CLOCK_REALTIME, CLOCK_MONOTONIC" {
        HOST_CLOCK_STEP = "host.clock.step": "steps of the wall clock against the monotonic clock";
    }
    one Rate "cores" from "/proc/stat and /proc/PID/stat" {
        HOST_OTHERS_CPU = "host.others.cpu":
            "user, nice and system time without Dyno and the server (if unknown, \
             `server.presumed` and `server.proxy`)";
    }
    one Gauge "count" from "/proc/PID/stat, if other processes used 5 % of the CPUs" {
        HOST_OTHERS_BACKUPS = "host.others.backups":
            "processes of programs that make backups, such as pg_dump and mariadb-dump";
    }
    one Fact "" from "/proc/sys/kernel, /etc/os-release" {
        HOST_NAME = "host.name": "host name";
        HOST_OS = "host.os": "distribution";
        HOST_KERNEL = "host.kernel": "kernel version";
        HOST_BOOT_ID = "host.boot_id": "identifies the boot";
    }
    one Fact "" from "/proc/cpuinfo, /sys/class/dmi/id" {
        HOST_VIRTUALIZATION = "host.virtualization": "the hypervisor, or `none seen`";
    }
    one Fact "" from "/sys/devices/system/clocksource" {
        HOST_CLOCK_SOURCE = "host.clock.source": "the kernel's clock source";
    }
    one Fact "" from "clock_getres(CLOCK_MONOTONIC)" {
        HOST_CLOCK_RESOLUTION_NS = "host.clock.resolution_ns": "resolution of the clock";
    }
    one Fact "" from "/proc/cpuinfo, sysconf, /proc/self/status" {
        HOST_CPU_MODEL = "host.cpu.model": "CPU model";
        HOST_CPU_THREADS = "host.cpu.threads": "number of hardware threads";
        HOST_CPU_ALLOWED = "host.cpu.allowed": "CPUs that Dyno may use";
    }
    one Fact "" from "/sys/devices/system/cpu" {
        HOST_CPU_CORES = "host.cpu.cores": "number of cores";
        HOST_CPU_GOVERNOR = "host.cpu.governor": "frequency governor; several if CPUs differ";
        HOST_CPU_TURBO = "host.cpu.turbo": "whether the CPU may exceed its base frequency";
        HOST_CPU_IDLE_STATES = "host.cpu.idle_states": "idle states that may be entered";
        HOST_CPU_MITIGATIONS = "host.cpu.mitigations": "mitigations of CPU vulnerabilities";
    }
    one Fact "" from "/sys/devices/system/node" {
        HOST_NUMA_NODES = "host.numa.nodes": "number of NUMA nodes";
    }
    one Fact "" from "/proc/meminfo, /proc/sys/vm/swappiness" {
        HOST_SWAP_TOTAL = "host.swap.total": "swap space in bytes";
        HOST_SWAPPINESS = "host.swappiness": "how readily the kernel swaps";
    }
    one Fact "" from "/sys/kernel/mm/transparent_hugepage" {
        HOST_THP = "host.thp": "transparent huge pages";
        HOST_THP_DEFRAG = "host.thp.defrag": "when memory is compacted for huge pages";
    }
    one Fact "" from "/proc/self/limits" {
        HOST_LIMITS_DESCRIPTORS = "host.limits.descriptors": "descriptor limit of a process";
    }
    one Fact "" from "control group" {
        HOST_CGROUP_CPU_MAX = "host.cgroup.cpu_max": "CPU quota of Dyno's control group";
    }
    one Fact "" from "/dev/kmsg" {
        HOST_KERNEL_LOG_READABLE = "host.kernel_log.readable": "whether Dyno reads the kernel log";
    }
    one Fact "" from "statfs" {
        HOST_FILESYSTEM_TYPE = "host.filesystem.type": "type of `host.filesystem`";
    }
    one Fact "" from "/proc/PID/stat, at the end" {
        HOST_OTHERS_TOP = "host.others.top": "the largest other processes";
        HOST_OTHERS_TOP_CORES = "host.others.top_cores":
            "CPU use of the largest other processes, in cores";
    }
    each Rate "count/s" from "/proc/diskstats" {
        HOST_DISK_READS = "host.disk[" "].reads": "reads that ended";
        HOST_DISK_WRITES = "host.disk[" "].writes": "writes that ended";
    }
    each Rate "bytes/s" from "/proc/diskstats" {
        HOST_DISK_READ_BYTES = "host.disk[" "].read_bytes": "bytes read";
        HOST_DISK_WRITE_BYTES = "host.disk[" "].write_bytes": "bytes written";
    }
    each Rate "percent" from "/proc/diskstats" {
        HOST_DISK_UTILISATION = "host.disk[" "].utilisation": "time with requests in flight";
    }
    each Gauge "ms" from "/proc/diskstats" {
        HOST_DISK_READ_AWAIT = "host.disk[" "].read_await": "mean time of a read, if one ended";
        HOST_DISK_WRITE_AWAIT = "host.disk[" "].write_await": "mean time of a write, if one ended";
    }
    each Gauge "count" from "/proc/diskstats" {
        HOST_DISK_QUEUE = "host.disk[" "].queue": "requests in flight";
    }
    each Rate "bytes/s" from "/proc/net/dev" {
        HOST_NETWORK_RX_BYTES = "host.network[" "].rx_bytes": "bytes received by an interface";
        HOST_NETWORK_TX_BYTES = "host.network[" "].tx_bytes": "bytes sent";
    }
    each Rate "count/s" from "/proc/net/dev" {
        HOST_NETWORK_RX_PACKETS = "host.network[" "].rx_packets": "packets received";
        HOST_NETWORK_TX_PACKETS = "host.network[" "].tx_packets": "packets sent";
        HOST_NETWORK_RX_DROPS = "host.network[" "].rx_drops": "received packets dropped";
        HOST_NETWORK_TX_DROPS = "host.network[" "].tx_drops": "packets dropped before sending";
    }
    each Fact "" from "/sys/block/DEV" {
        HOST_DISK_MODEL = "host.disk[" "].model": "model of the disk";
        HOST_DISK_SCHEDULER = "host.disk[" "].scheduler": "I/O scheduler";
        HOST_DISK_WRITE_CACHE = "host.disk[" "].write_cache": "`write back` or `write through`";
        HOST_DISK_ROTATIONAL = "host.disk[" "].rotational": "1 if the disk rotates";
    }
}
