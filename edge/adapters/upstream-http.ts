/**
 * Upstream calls over the platform's fetch. Redirects are never followed: an address that was checked on write must not
 * hand over to one that was not (decisions §16).
 */
import type { Upstream } from "../ports.ts";

export const upstreamHttp: Upstream = {
  async fetch({ url, method, headers, body, signal }) {
    if (body instanceof Request)
      return await fetch(new Request(url, body), { method, headers, signal, redirect: "manual" });
    return await fetch(url, { method, headers, body, signal, redirect: "manual" });
  },
};
