/** The shape of each state, so that nobody has to tell them by their colour. */
const PATHS = {
  accent: "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
  good: "M3.5 8.5l3 3 6-7",
  warn: "M8 2.5l6 11H2zM8 6.5v3.5M8 11.8v.2",
  bad: "M4 4l8 8M12 4l-8 8",
} as const;

interface StateIconProps {
  readonly tone: keyof typeof PATHS | "neutral";
  readonly size?: number;
}

export function StateIcon({ tone, size = 12 }: StateIconProps) {
  if (tone === "neutral") return null;
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" data-state-icon={tone}>
      <path
        d={PATHS[tone]}
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
