/** Listening on an address that a variable sets. */
import net from "node:net";
import { type ListenAddress, StackEnvError } from "./env.ts";
import { listen } from "./http/listen.ts";

/**
 * Names the variable in the error for an unusable address. Rejects with StackEnvError, or with errors that are not the
 * address's fault.
 */
export async function named<T>(variable: string, { host, port }: ListenAddress, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (!["EADDRINUSE", "EACCES", "EADDRNOTAVAIL", "ENOTFOUND", "EINVAL"].includes(code)) throw error;
    const why = code === "EADDRINUSE" ? "is taken by another process" : `cannot be used (${code})`;
    throw new StackEnvError(`${variable}: the address ${host}:${port} ${why}; free it, or set ${variable}`);
  }
}

/** The URL of an address that can be listened on. Throws StackEnvError when it cannot. */
export async function checkFree(variable: string, address: ListenAddress): Promise<string> {
  const probe = await named(
    variable,
    address,
    async () => await listen(net.createServer(), address.host, address.port),
  );
  await probe.close();
  return probe.url;
}
