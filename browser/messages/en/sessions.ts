/** Texts of the list of somebody's sessions. */
export const sessionsTexts = {
  title: "Your sessions",
  sessions: "Sessions",
  agent: "Browser",
  address: "Network",
  since: "Signed in",
  seen: "Last seen",
  own: "This session",
  unknown: "Unknown",
  end: "End",
  endOf: "End the session {agent}",
  endAll: "End all sessions",
  endOthers: "End all other sessions",
  ended: "Session ended",
  allEnded: "Sessions ended",
  endFailed: "Not ended",
  none: "Not signed in anywhere",
} as const;
