/**
 * Clients of one tenant that send one request after another, and the answers to the requests that started after a given
 * moment. A revocation applies to a request that starts after it was confirmed, not to one that was already running.
 */
import type { Gateway, Minted } from "./gateway.ts";
import { waitFor } from "./wait-for.ts";

export function busyClients(gateway: Gateway, minted: Minted, count: number) {
  let served = 0;
  let counts = false;
  const client = async (): Promise<number> => {
    for (;;) {
      const late = counts;
      const status = await statusOf(gateway, minted);
      if (status === 200) served += 1;
      if (late) return status;
    }
  };
  const clients = Array.from({ length: count }, client);
  return {
    served: async (atLeast: number): Promise<void> => {
      await waitFor(
        () => served,
        (now) => now >= atLeast,
      );
    },
    /**
     * Ends the clients. Returns the status of one request of each client that started after this call; 0 when it got no
     * answer.
     */
    afterNow: async (): Promise<readonly number[]> => {
      counts = true;
      return await Promise.all(clients);
    },
  };
}

/**
 * The gateway's answer about a key, as soon as there is one: a slow store is answered with 503, which says nothing of the
 * key, and a gateway that is starting does not answer.
 */
export async function verdictOn(gateway: Gateway, minted: Minted): Promise<number> {
  return await waitFor(
    async () => await statusOf(gateway, minted),
    (status) => status !== 503 && status !== 0,
  );
}

/** The status of one request; 0 when the gateway could not be reached. */
export async function statusOf(gateway: Gateway, minted: Minted): Promise<number> {
  try {
    const response = await gateway.chat(minted);
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}
