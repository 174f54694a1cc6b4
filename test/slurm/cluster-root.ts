/**
 * The folder that is the test cluster's root: Debian's packages, what is mounted in it, and whether this machine can have one.
 * Needs a minute for the first installation.
 */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { areaObstacle, DEBIAN_RELEASE, debianMirror, installTools, must } from "../tiers/optional-area.ts";
import { clusterFiles, GPUS, JOB_FILES, NODES } from "./cluster-files.ts";

const PACKAGES = [
  "slurm-wlm",
  "slurmrestd",
  "slurm-wlm-jwt-plugin",
  "slurm-wlm-mysql-plugin",
  "slurmdbd",
  "mariadb-server",
  "iproute2",
];
/** Who runs the REST service, and whose jobs the gateway submits. */
const USERS = ["slurmrest", "gateway"];
const MOUNTS = [
  ["proc", "-t", "proc", "proc"],
  ["dev", "--bind", "/dev"],
] as const;
/** Options of `unshare`: mounts and processes that end with its command. */
export const OWN_NAMESPACES = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;

export const CLUSTER_ROOT: string = process.env["TEST_SLURM_ROOT"] ?? join(tmpdir(), "gateway-test-slurm");

/** Why no cluster can be brought up here; null when one can. */
export function clusterObstacle(): string | null {
  return areaObstacle("unshare", ...OWN_NAMESPACES, "mount", "-t", "tmpfs", "none", tmpdir());
}

/** Installs the packages when another list of them, or none, is installed. Throws when one cannot be had. */
export function installCluster(root: string): void {
  const marker = join(root, ".installed");
  const wanted = [DEBIAN_RELEASE, ...PACKAGES, ...USERS].join(" ");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  installTools("debootstrap");
  removeCluster(root);
  const packages = `--include=${PACKAGES.join(",")}`;
  const words = ["debootstrap", "--variant=minbase", packages, DEBIAN_RELEASE, root, debianMirror()];
  must("unshare", ...OWN_NAMESPACES, ...words);
  for (const user of USERS) must("chroot", root, "useradd", "--system", user);
  writeFileSync(marker, wanted);
}

/** Removes the folder. Throws while one of the machine's own folders is mounted in it and in use. */
export function removeCluster(root: string): void {
  unmountCluster(root);
  rmSync(root, { recursive: true, force: true });
}

/** Mounts what jobs need, and writes everything anew: the state of an earlier cluster is gone afterwards. */
export function configureCluster(root: string, host: string): void {
  const at = (...path: readonly string[]): string => join(root, ...path);
  for (const [folder, ...how] of MOUNTS) if (!isMounted(at(folder))) must("mount", ...how, at(folder));
  rmSync(at("var/spool/slurmctld"), { recursive: true, force: true });
  const spools = NODES.map((node) => `var/spool/slurmd/${node}`);
  for (const folder of ["etc/slurm", "run", "run/mysqld", "var/spool/slurmctld", ...spools, JOB_FILES])
    mkdirSync(at(folder), { recursive: true });
  writeFileSync(at("etc/hosts"), `${readFileSync("/etc/hosts", "utf8")}\n127.0.0.1 ${host}\n`);
  for (const [file, bytes] of [
    ["var/spool/slurmctld/jwt.key", 32],
    ["etc/slurm/slurm.key", 1024],
  ] as const)
    writeFileSync(at(file), randomBytes(bytes), { mode: 0o600 });
  for (let gpu = 0; gpu < GPUS; gpu += 1)
    if (!existsSync(at(`opt/gpu${gpu}`))) must("mknod", at(`opt/gpu${gpu}`), "c", "1", "3");
  for (const [file, lines] of Object.entries(clusterFiles(host))) writeFileSync(at(file), `${lines.join("\n")}\n`);
  chmodSync(at("etc/slurm/slurmdbd.conf"), 0o600);
  chmodSync(at("usr/local/bin/apptainer"), 0o755);
  // under another name first: a job of an earlier run may still use the old file
  copyFileSync(process.execPath, at(JOB_FILES, "node.new"));
  renameSync(at(JOB_FILES, "node.new"), at(JOB_FILES, "node"));
  copyFileSync(join(import.meta.dirname, "model-server.mjs"), at(JOB_FILES, "model-server.mjs"));
  writeFileSync(at(JOB_FILES, "image.sif"), "");
  rmSync(at("var/lib/mysql"), { recursive: true, force: true });
  must("chroot", root, "mariadb-install-db", "--user=root", "--skip-test-db", "--datadir=/var/lib/mysql");
}

/** Takes the machine's folders out of the root: below a mounted one lie the machine's own devices. */
export function unmountCluster(root: string): void {
  for (const folder of MOUNTS.map(([name]) => join(root, name))) if (isMounted(folder)) must("umount", folder);
}

/** The root folder of a process; null: there is no such process. */
export function rootOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/root`);
  } catch {
    return null;
  }
}

function isMounted(folder: string): boolean {
  return existsSync(folder) && spawnSync("mountpoint", ["-q", folder]).status === 0;
}
