/** Methods of the language, watched while work is done: how often, of what and with what they are called. */
type Method = (this: unknown, ...given: unknown[]) => unknown;

/** Does the work; `seen` gets what each call of these methods has as `this` and as its first argument. */
export function watchedCalls(
  methods: readonly (readonly [holder: object, name: string])[],
  seen: (of: unknown, first: unknown) => void,
  work: () => unknown,
): void {
  const own = methods.map(([holder, name]) => Reflect.get(holder, name) as Method);
  for (const [at, [holder, name]] of methods.entries())
    Reflect.set(holder, name, function (this: unknown, ...given: unknown[]): unknown {
      seen(this, given[0]);
      return Reflect.apply(own[at] as Method, this, given);
    });
  try {
    work();
  } finally {
    for (const [at, [holder, name]] of methods.entries()) Reflect.set(holder, name, own[at]);
  }
}
