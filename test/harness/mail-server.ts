/** A mail server of a test's own, without TLS. It accepts mail without a login, and logins with the password `right`. */
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export async function startMailServer() {
  /** As they arrived, oldest first. */
  const mails: string[] = [];
  /** `name:password` of every login that was tried. */
  const users: string[] = [];
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: (auth, _session, done) => {
      users.push(`${auth.username}:${auth.password}`);
      if (auth.password === "right") done(null, { user: auth.username });
      else done(new Error("no"));
    },
    onData: (stream, _session, done) => {
      let text = "";
      stream.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      stream.on("end", () => {
        mails.push(text);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    users,
    close: async (): Promise<void> => await new Promise((resolve) => server.close(() => resolve())),
  };
}
