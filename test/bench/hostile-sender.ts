/** The thread that sends the bodies of hostile-bodies.ts: what sending takes is no silence of the gateway. */
import { parentPort } from "node:worker_threads";

/** A body that is sent several times at once. */
export interface Sending {
  readonly url: string;
  readonly secret: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly times: number;
}

async function sendAll({ url, secret, body, times }: Sending): Promise<string> {
  const send = async (): Promise<number> => {
    const { status } = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(60_000),
    });
    return status;
  };
  const sent = await Promise.allSettled(Array.from({ length: times }, send));
  return sent.map((one) => (one.status === "fulfilled" ? one.value : "-")).join(" ");
}

parentPort?.on("message", (sending: Sending) => {
  void sendAll(sending).then((statuses) => parentPort?.postMessage(statuses));
});
