/** The client left, and gets no answer. The usage row is written where the request's permit ends. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}
