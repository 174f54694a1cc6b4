/** What a front must do for the console behind it: the console knows who came, and how. */
import { expect, inject, it } from "vitest";
import { StackLog } from "../harness/stack-log.ts";
import { waitFor } from "../harness/wait-for.ts";
import { ask, CLIENT_ADDRESS, type FrontAddress } from "./https-client.ts";

/** Declares the tests. `host`: the name under which the front serves the console. */
export function itServesTheConsole(front: () => FrontAddress, host: string): void {
  const signIn = async (password: string) => {
    const access = inject("consoleAccess");
    return await ask(front(), "h2", {
      host,
      path: "/auth/local",
      headers: {
        origin: `https://${host}`,
        "content-type": "application/json",
        "x-forwarded-for": "198.51.100.7",
        "x-forwarded-proto": "http",
      },
      body: JSON.stringify({ email: access?.email, password: password || access?.password }),
    });
  };

  it("tells the console who came, whatever the client says", async () => {
    const log = new StackLog(inject("logFile"));
    expect((await signIn("not the password")).status).toBe(401);
    const address = await waitFor(() => /"sign_in_failed","address":"([^"]*)"/.exec(log.text())?.[1]);
    expect(address).toBe(CLIENT_ADDRESS);
  });

  it("tells it that TLS was spoken, so that its cookies are for TLS alone", async () => {
    const answer = await signIn("");
    expect({ status: answer.status, "set-cookie": String(answer.headers["set-cookie"]) }).toEqual({
      status: 200,
      "set-cookie": expect.stringContaining("; Secure"),
    });
  });
}
