/**
 * When the certificate ends that clients of the data plane are shown, read at each scrape in a handshake of its own: what a
 * file contains and what is served may differ. Nothing is sent to the other side, so it need not prove who it is.
 */
import { once } from "node:events";
import { isIP } from "node:net";
import { connect } from "node:tls";
import { Gauge } from "prom-client";
import { metricOptions } from "../../../shared/catalogues/metrics.ts";
import type { Listen } from "../../kernel/env-field.ts";

const HANDSHAKE_MS = 2_000;

/** The gauge; it belongs to no registry until it is registered. Without an address, or an answer from it, it has no value. */
export function certificateGauge(address: Listen | null): Gauge {
  return new Gauge({
    ...metricOptions("gateway_tls_expires_at"),
    registers: [],
    async collect() {
      this.set(address === null ? Number.NaN : await shownUntilSecs(address).catch(() => Number.NaN));
    },
  });
}

async function shownUntilSecs({ host, port }: Listen): Promise<number> {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({ host, port, ...name, rejectUnauthorized: false, timeout: HANDSHAKE_MS });
  socket.once("timeout", () => socket.destroy(new Error("no handshake in time")));
  try {
    await once(socket, "secureConnect");
    return Date.parse(socket.getPeerCertificate().valid_to) / 1000;
  } finally {
    // What happens to the connection from here on concerns nobody.
    socket.on("error", () => undefined);
    socket.destroy();
  }
}
