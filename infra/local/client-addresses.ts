/**
 * The addresses of clients in the Worker's log. The runtime sees only the connections of the front before it, so a line about a
 * refusal names the port of such a connection: the front knows its client. `x-forwarded-for` counts as GATEWAY_TRUSTED_PROXIES
 * says (docs/tls-and-fronts.md#addresses-of-clients).
 */
import type net from "node:net";
import { type TrustedProxies, trustedProxiesField } from "../../control/kernel/trusted-proxies.ts";
import { StackEnvError } from "./env.ts";
import { jsonLine } from "./process/child.ts";

/** A line about a request arrives within this time after its connection. */
const KEPT_MS = 10_000;
/** Where the runtime writes of a connection. */
const MARK = '"peer":"';

export class ClientAddresses {
  readonly #proxies: TrustedProxies;
  /** By the front's port towards the runtime. */
  readonly #clients = new Map<number, { readonly address: string }>();

  /** `variables`: those of the gateway. Throws StackEnvError. */
  constructor(variables: Readonly<Record<string, string | undefined>>) {
    const listed = trustedProxiesField.safeParse(variables["GATEWAY_TRUSTED_PROXIES"] ?? "");
    if (!listed.success) throw new StackEnvError(`GATEWAY_TRUSTED_PROXIES ${listed.error.issues[0]?.message}`);
    this.#proxies = listed.data;
  }

  /** Remembers whose connection the front has opened to the runtime. */
  carried(client: net.Socket, inner: net.Socket): void {
    const known = { address: client.remoteAddress ?? "" };
    inner.once("connect", () => {
      const { localPort = 0 } = inner;
      this.#clients.set(localPort, known);
      const forget = (): void => {
        if (this.#clients.get(localPort) === known) this.#clients.delete(localPort);
      };
      inner.once("close", () => setTimeout(forget, KEPT_MS).unref());
    });
  }

  /** The runtime's line, with the client's address in the place of its connection. */
  told(line: string): string {
    if (!line.includes(MARK)) return line;
    const { peer, forwarded_for: forwarded, ...fields } = jsonLine(line) ?? {};
    if (typeof peer !== "string") return line;
    const known = this.#clients.get(Number(peer.slice(peer.lastIndexOf(":") + 1)));
    const header = typeof forwarded === "string" ? forwarded : undefined;
    return JSON.stringify({
      ...fields,
      address: known === undefined ? "unknown" : this.#proxies.clientOf(known.address, header),
    });
  }
}
