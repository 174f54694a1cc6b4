/** A duration in words for a message: `45 s`, `5 min 33 s`, `3 h 5 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  const secs = Math.max(0, Math.round(ms / 1000));
  if (secs < 60) return `${secs} s`;
  const minutes = Math.floor(secs / 60);
  if (minutes < 60) return secs % 60 === 0 ? `${minutes} min` : `${minutes} min ${secs % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
