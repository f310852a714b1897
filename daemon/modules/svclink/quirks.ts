/**
 * Corrections of what devices of some vendors report, by id. A description names those that a capability needs; each that
 * was applied stands in the evidence. One may lower the trust in a reading and never raises it (node document §2.4).
 */
import type { Tier } from '../../../protocol/proof/effect.ts'

type Quirk = {
  readonly says: string
  /** The number as callers see it, of the one that the device has, and back. */
  readonly read?: (device: number) => number
  readonly write?: (shown: number) => number
  /** The highest tier of a reading to which it was applied. */
  readonly verify?: Tier
}

const scaled = (divisor: number): Pick<Quirk, 'read' | 'write'> => ({
  read: device => device / divisor,
  write: shown => Math.round(shown * divisor),
})
/** As many decimal places as a difference has without the rest of binary fractions. */
const PLACES = 9
const inverted = (whole: number) => (value: number) => Number((whole - value).toFixed(PLACES))

export const quirks = {
  'inverted-percent': {
    says: 'counts per cent from the other end, as some covers do',
    read: inverted(100),
    write: inverted(100),
  },
  'inverted-bit': { says: 'has 0 for on and 1 for off', read: inverted(1), write: inverted(1) },
  tenths: { says: 'counts in tenths', ...scaled(10) },
  hundredths: { says: 'counts in hundredths', ...scaled(100) },
  thousandths: { says: 'counts in thousandths, such as millivolts', ...scaled(1000) },
  'echoed-state': { says: 'reports what was written to it, whatever it does', verify: 1 },
  'cached-state': { says: 'its gateway reports the last state that it heard, however old', verify: 1 },
  'assumed-state': { says: 'reports no state; its gateway assumes one', verify: 0 },
} as const satisfies Record<string, Quirk>

const table: Readonly<Record<string, Quirk>> = quirks
export const quirkIds: readonly string[] = Object.keys(quirks)
export const isQuirk = (id: string): boolean => Object.hasOwn(quirks, id)

/** The number of the device as callers see it. */
export const shownOf = (ids: readonly string[], device: number): number =>
  ids.reduce((value, id) => table[id]?.read?.(value) ?? value, device)

/** The number that the device has to get for it. */
export const deviceOf = (ids: readonly string[], shown: number): number =>
  ids.reduceRight((value, id) => table[id]?.write?.(value) ?? value, shown)

/** The highest tier that these leave to a reading. */
export const tierLeft = (ids: readonly string[]): Tier =>
  ids.reduce<Tier>((least, id) => Math.min(least, table[id]?.verify ?? 4) as Tier, 4)
