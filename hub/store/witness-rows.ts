/** Witnesses and their statements as engines keep them and as the hub sees them. */
import type { KeptStatement, WitnessRow } from './witness-port.ts'

export type StoredWitness = {
  aid: string
  url: string | null
  kel: Uint8Array | null
  ahead: Uint8Array | null
}

export const witnessOf = ({ aid, url, kel, ahead }: StoredWitness): WitnessRow => ({
  aid,
  url: url ?? undefined,
  kel: kel ?? undefined,
  ahead: ahead ?? undefined,
})

export type StoredStatement = { witness: string; seq: number; observed_ms: number; statement: Uint8Array }

export const statementOf = ({ observed_ms: observedMs, ...row }: StoredStatement): KeptStatement => ({
  ...row,
  observedMs,
})

/** Whether a statement goes on from the newest of its witness. */
export const goesOnFrom = (
  newest: Pick<StoredStatement, 'seq' | 'observed_ms'> | undefined,
  { seq, observedMs }: Pick<KeptStatement, 'seq' | 'observedMs'>,
): boolean => newest === undefined || (seq >= newest.seq && observedMs > newest.observed_ms)
