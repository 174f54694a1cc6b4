/**
 * The configuration of the test cluster (cluster.ts): two nodes on this machine with made-up GPUs, accounts with limits, and
 * an `apptainer` that runs its command without a container, because Debian has no package of it.
 */
import { availableParallelism } from "node:os";

/** Ports on loopback: of the controller, of accounting, of the REST service, and of each node's daemon. */
export const PORTS = { slurmctld: 16_817, slurmdbd: 16_819, slurmrestd: 16_820, n1: 16_818, n2: 16_821 } as const;
export const NODES = ["n1", "n2"] as const;
export const GPUS = 4;
/** An account that may have one job at a time in the queue; a quality of service that gives one GPU at most. */
export const LIMITED = { account: "tight", qos: "small" } as const;
/** Where the node binary and the model server are, for jobs. */
export const JOB_FILES = "/opt/gateway";

const STATE = "/var/spool/slurmctld";
const TOKENS = ["AuthType=auth/slurm", "AuthAltTypes=auth/jwt", `AuthAltParameters=jwt_key=${STATE}/jwt.key`];

/** Files by their path in the cluster's root, for a machine with this name. */
export function clusterFiles(host: string): Readonly<Record<string, readonly string[]>> {
  return {
    "etc/slurm/cgroup.conf": ["CgroupPlugin=disabled", "IgnoreSystemd=yes"],
    "etc/slurm/gres.conf": [`NodeName=${NODES.join(",")} Name=gpu File=/opt/gpu[0-${GPUS - 1}]`],
    "etc/slurm/slurmdbd.conf": [
      ...TOKENS,
      `DbdHost=${host}`,
      "DbdAddr=127.0.0.1",
      `DbdPort=${PORTS.slurmdbd}`,
      "SlurmUser=root",
      "PidFile=/run/dbd.pid",
      "StorageType=accounting_storage/mysql",
      "StorageHost=localhost",
      "StorageUser=root",
      "StorageLoc=slurm_accounting",
    ],
    "etc/slurm/slurm.conf": slurmConf(host),
    "usr/local/bin/apptainer": [
      "#!/bin/bash",
      '[ "$1 $2" = "exec --nv" ] && [ -f "$3" ] || { echo "apptainer: cannot run: $*" >&2; exit 255; }',
      "export APPTAINER_CONTAINER=$3",
      "shift 3",
      'exec "$@"',
    ],
  };
}

/** Two partitions, one of which refuses jobs that want more than ten minutes. */
function slurmConf(host: string): readonly string[] {
  const cpus = availableParallelism();
  return [
    "ClusterName=test",
    `SlurmctldHost=${host}(127.0.0.1)`,
    "SlurmUser=root",
    "SlurmdUser=root",
    `SlurmctldPort=${PORTS.slurmctld}`,
    ...TOKENS,
    "CredType=cred/slurm",
    `StateSaveLocation=${STATE}`,
    "SlurmdSpoolDir=/var/spool/slurmd/%n",
    "SlurmctldPidFile=/run/ctld.pid",
    "SlurmdPidFile=/run/d-%n.pid",
    "AccountingStorageType=accounting_storage/slurmdbd",
    "AccountingStorageHost=127.0.0.1",
    `AccountingStoragePort=${PORTS.slurmdbd}`,
    "AccountingStorageEnforce=associations,limits,qos",
    "AccountingStorageTRES=gres/gpu",
    "ProctrackType=proctrack/linuxproc",
    "TaskPlugin=task/none",
    "JobAcctGatherType=jobacct_gather/none",
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core",
    "GresTypes=gpu",
    "MpiDefault=none",
    "SchedulerParameters=sched_interval=1",
    "KillWait=2",
    "MinJobAge=30",
    "ReturnToService=2",
    "InactiveLimit=0",
    "EnforcePartLimits=ALL",
    ...NODES.map(
      (node) =>
        `NodeName=${node} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${PORTS[node]} CPUs=${cpus} RealMemory=2000 Gres=gpu:${GPUS} State=UNKNOWN`,
    ),
    "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:16",
    "PartitionName=short Nodes=ALL MaxTime=10 State=UP OverSubscribe=FORCE:16",
  ];
}
