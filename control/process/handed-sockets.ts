/**
 * Listening sockets that a service manager hands to this process (sd_listen_fds of systemd). The manager keeps them open while the
 * process restarts, so connections wait in them and none is refused (docs/run.md#restart).
 */
import { EnvError } from "../kernel/env-field.ts";

/** The listeners of a control service. */
export const CONTROL_SOCKETS = ["admin", "metrics", "dashboard"] as const;
const FIRST_DESCRIPTOR = 3;
const SOCKETS_MAX = 16;

/** The descriptors by what listens there, each of `names` at most once. Throws EnvError for another name and a wrong number. */
export function handedSockets<Name extends string>(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly Name[],
  pid = process.pid,
): ReadonlyMap<Name, number> {
  const found = new Map<Name, number>();
  if (env["LISTEN_PID"] !== String(pid)) return found;
  const count = env["LISTEN_FDS"] ?? "0";
  if (!/^\d+$/.test(count) || Number(count) > SOCKETS_MAX)
    throw new EnvError(`LISTEN_FDS must be the number of handed sockets, from 0 to ${SOCKETS_MAX}, in digits`);
  if (Number(count) > 0 && !env["LISTEN_FDNAMES"])
    throw new EnvError(
      `LISTEN_FDNAMES is required with LISTEN_FDS: one of ${names.join(", ")} for each socket, separated by colons`,
    );
  const given = env["LISTEN_FDNAMES"]?.split(":") ?? [];
  for (let at = 0; at < Number(count); at += 1) {
    const name = names.find((one) => one === given[at]);
    if (name === undefined || found.has(name))
      throw new EnvError(
        `LISTEN_FDNAMES: FileDescriptorName= of each socket unit must be one of ${names.join(", ")}, and each unit must have one ListenStream=`,
      );
    found.set(name, FIRST_DESCRIPTOR + at);
  }
  return found;
}
