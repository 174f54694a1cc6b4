/** What is done with the connections of a session: neither throws. */
import type { Closing } from "../../domain/realtime/close-codes.ts";
import type { Message } from "./message-queue.ts";

/** A connection that has ended takes nothing more; its own event says so. */
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
