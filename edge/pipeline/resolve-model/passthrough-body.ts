/**
 * The body of a GET on its way upstream. The runtime cannot create a GET with a body, and only passes an incoming body on. So
 * the body stays unchanged and `model` keeps the client's name (docs/rules/routes.md#model-listing).
 */
import type { OutgoingBody } from "../call/client-body.ts";

/** No body at all. */
export const NO_BODY: OutgoingBody = {
  form: false,
  resendable: true,
  fault: null,
  readRest: null,
  clientBytes: null,
  member: null,
  open: () => null,
  release: () => undefined,
};

/** The unread body of an incoming request. */
export class PassthroughBody implements OutgoingBody {
  readonly form = false;
  readonly fault = null;
  readonly readRest = null;
  readonly clientBytes = null;
  readonly member = null;
  readonly #request: Request;
  #opened = false;

  constructor(request: Request) {
    this.#request = request;
  }

  get resendable(): boolean {
    return !this.#opened;
  }

  open(): Request {
    if (this.#opened) throw new Error("the body has been passed on");
    this.#opened = true;
    return this.#request;
  }

  release(): void {
    // Nothing to release: the runtime has the body.
  }
}
