/** The address of the analytics store and how to log in. */
export interface ClickhouseEnv {
  readonly url: string;
  readonly db: string;
  readonly user: string;
  readonly password: string;
}
