/** The client left, and gets no answer. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}
