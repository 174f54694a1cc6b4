/** Operations on the connections of a session. None of them throws. */
import type { Closing } from "../../domain/realtime/close-codes.ts";
import type { Call } from "../call/context.ts";
import type { Message } from "./message-queue.ts";

/** A connection that has ended takes nothing more; its own event reports the end. */
export function sendTo(socket: WebSocket, message: Message): void {
  try {
    socket.send(message);
  } catch {
    return;
  }
}

export function closeWith(socket: WebSocket, { code, reason }: Closing): void {
  try {
    socket.close(code, reason);
  } catch {
    return;
  }
}

/** How long a client may take to close its side. */
const LINGER_MS = 5_000;
/** How many messages of a client may be on their way when its session ends. */
const LATE_MESSAGES = 1_024;

/**
 * Closes the connection of a client whose session has ended. A client that does not close its side, leaves messages unread, or
 * does not stop sending, is cut off: otherwise it would occupy memory and work of the runtime for as long as it likes. `gone`:
 * called once, when it occupies none.
 */
export function dismiss(
  client: WebSocket,
  closing: Closing,
  { timer, cutOff }: Pick<Call, "timer" | "cutOff">,
  gone: () => void = () => undefined,
): void {
  closeWith(client, closing);
  const hasAll = (): boolean => client.readyState === WebSocket.CLOSED && client.bufferedAmount === 0;
  if (hasAll()) {
    gone();
    return;
  }
  const callOff = timer.after(LINGER_MS, () => {
    if (!hasAll()) cutOff?.("the client of an ended session did not close its connection");
    gone();
  });
  let late = 0;
  client.addEventListener("close", () => {
    if (client.bufferedAmount > 0) return;
    callOff();
    gone();
  });
  client.addEventListener("message", () => {
    late += 1;
    // the runtime ends a connection whose listener throws
    if (late > LATE_MESSAGES) throw new Error("the client of an ended session does not stop sending");
  });
}
