/**
 * A port for a server that listens later, or again: a free one that the system does not assign. One that `listen(0)`
 * found is given to any other socket of the machine as soon as the probe has closed, so that the server may find it taken.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { listen } from "../../infra/local/http/listen.ts";

const FIRST = 20_000;
/** From here on a system assigns ports, where it does not say. */
const USUAL_LIMIT = 32_768;

/** The first port that the system assigns. */
function limit(): number {
  try {
    const given = Number(readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split(/\s+/)[0]);
    return given > FIRST ? given : USUAL_LIMIT;
  } catch {
    return USUAL_LIMIT;
  }
}

/** A port of loopback on which nobody listens. */
export async function ownPort(): Promise<number> {
  const end = limit();
  for (;;) {
    try {
      const probe = await listen(createServer(), "127.0.0.1", randomInt(FIRST, end));
      await probe.close();
      return probe.port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

/** Whether somebody listens on a port of loopback. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
