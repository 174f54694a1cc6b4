/** Runs an image as a container engine would: its user, its variables, its entry point, and a root that cannot be written. */
import type { PlaneCommand } from "../harness/planes.ts";
import type { BuiltImage } from "./base.ts";

/**
 * Run by the first process, which becomes the image's own: the root becomes read-only, but for `/tmp` and the data, which is bound
 * when there is a folder for it. Mounts end with the process.
 */
const PREPARE = `
set -e
root=$1 data=$2 user=$3 folder=$4; shift 4
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
[ -z "$data" ] || mount --bind "$data" "$root/var/lib/gateway"
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" "$root" /usr/bin/env --chdir="$folder" "$@"
`;

/** The command that runs `words` in the image, or its entry point. `data`: the folder of its volume; null: it has none. */
export function imageCommand(
  { root, config }: BuiltImage,
  data: string | null,
  words: readonly string[] = config.Entrypoint,
): PlaneCommand {
  const env = Object.fromEntries(config.Env.map((line) => [line.split("=", 1)[0] ?? "", line.replace(/^[^=]*=/, "")]));
  return {
    command: "unshare",
    args: ["--mount", "sh", "-c", PREPARE, "sh", root, data ?? "", config.User, config.WorkingDir, ...words],
    env,
  };
}
