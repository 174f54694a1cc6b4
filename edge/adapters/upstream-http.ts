/**
 * Upstream calls over the platform's fetch. Redirects are never followed: an address that was checked on write must not
 * hand over to one that was not (decisions §16). Where the platform gives registered addresses a network of their own,
 * they are reached by way of it alone.
 */
import type { Upstream } from "../ports.ts";

/** `registered`: the network of addresses that an admin registered; undefined: the same as for everything else. */
export function upstreamHttp(registered: Fetcher | undefined): Upstream {
  return {
    async fetch({ url, method, headers, body, signal, trusted }) {
      const send: Fetcher["fetch"] = trusted || registered === undefined ? fetch : registered.fetch.bind(registered);
      const init = { headers, signal, redirect: "manual" } as const;
      // Named once more, the method of a GET with a body would be refused.
      if (body instanceof Request) return await send(new Request(url, body), init);
      return await send(url, { ...init, method, body });
    },
  };
}
