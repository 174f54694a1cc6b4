/**
 * The body of a GET on its way upstream. The runtime makes no GET with a body of its own and lets only an incoming one
 * be passed on, so that the body stays as it is and `model` keeps the client's name
 * (docs/rules/routes.md#model-listing).
 */
import type { OutgoingBody } from "../call/client-body.ts";

/** No body at all. */
export const NO_BODY: OutgoingBody = {
  form: false,
  resendable: true,
  fault: null,
  readRest: null,
  clientBytes: null,
  open: () => null,
  release: () => undefined,
};

/** The body of an incoming request that is unread. */
export class PassthroughBody implements OutgoingBody {
  readonly form = false;
  readonly fault = null;
  readonly readRest = null;
  readonly clientBytes = null;
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
    // Nothing is kept: the body is the runtime's.
  }
}
