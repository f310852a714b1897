/**
 * A hub's supply chain (hub API §6, objects: supply): what it issued and retired, and each day what it owes in all. Its
 * records are those of the evidence chain, signed by the hub; whoever reads it believes the records alone.
 */

import { CREDITS_MAX } from '../contract/limits.ts'
import { Malformed } from '../encoding/bytes.ts'
import type { CborValue } from '../encoding/cbor.ts'
import { isAid } from '../identity/aid.ts'
import type { ChainRecord } from './evidence.ts'

/** Event type: credits came to be (objects §19). */
export const creditIssued = 'credit.issued'
/** Event type: credits ceased to be (objects §19). */
export const creditRetired = 'credit.retired'
/** Stock from before there was a chain: read, never written. */
export const creditOpening = 'credit.opening'
/** Event type: what the hub owes at the end of a UTC day (objects §19). */
export const supplyEpoch = 'svc.supply.epoch'
const CREDIT_TYPES: readonly string[] = [creditIssued, creditRetired, creditOpening]

/** Why credits were issued or retired, objects §19. */
export const supplyReasons = ['trial', 'grant', 'redemption', 'cleared', 'restored'] as const
/** Text of a reason, as the payload has it. */
export type SupplyReason = (typeof supplyReasons)[number]

/** Credits that came to be or ceased to be; `aid` is whose, or the other hub of debts that were cleared. */
export type CreditChange = { aid: string; amount: number; reason: SupplyReason }

/** What a hub says at the end of a day; sums are since the beginning, days are UTC days since 1970. */
export type Epoch = {
  day: number
  from_day: number
  issued: number
  retired: number
  outstanding: number
  held: number
  owed_by_peers: number
  due_to_peers: number
  root: Uint8Array
  root_sum: number
  depth: number
  accounts: number
  /** The last transfer and the last record of this chain that are counted. */
  ledger_hw: number
  chain_hw: number
}

const EPOCH_NUMBERS = [
  'day',
  'from_day',
  'issued',
  'retired',
  'outstanding',
  'held',
  'owed_by_peers',
  'due_to_peers',
  'root_sum',
  'depth',
  'accounts',
  'ledger_hw',
  'chain_hw',
] as const satisfies (keyof Epoch)[]
const ROOT_BYTES = 32

/** Payload of `credit.issued` and `credit.retired`: a map with text keys (objects §19). */
export const creditPayload = ({ aid, amount, reason }: CreditChange): CborValue =>
  new Map<string, CborValue>([
    ['aid', aid],
    ['amount', amount],
    ['reason', reason],
  ])

/** Payload of `svc.supply.epoch`: a map with the members of {@link Epoch} as text keys (objects §19). */
export const epochPayload = (epoch: Epoch): CborValue => new Map<string, CborValue>(Object.entries(epoch))

/** A record of a supply chain as it is read: a change of credits, an epoch, or a kind that is not known here. */
export type SupplyEvent =
  | { kind: 'issued' | 'retired'; change: CreditChange }
  | { kind: 'epoch'; epoch: Epoch }
  | { kind: 'other' }

/** What a record says; throws {@link Malformed} where its payload is not of its type. */
export function supplyEventOf({
  eventType,
  payload,
}: Pick<ChainRecord, 'eventType' | 'payload'>): SupplyEvent {
  if (eventType === supplyEpoch) return { kind: 'epoch', epoch: readEpoch(payload) }
  if (!CREDIT_TYPES.includes(eventType)) return { kind: 'other' }
  return { kind: eventType === creditRetired ? 'retired' : 'issued', change: readChange(payload) }
}

function readChange(payload: CborValue): CreditChange {
  const members = membersOf(payload, ['aid', 'amount', 'reason'])
  const aid = members.get('aid')
  const reason = members.get('reason')
  if (typeof aid !== 'string' || !isAid(aid)) throw new Malformed('a credit record names no AID')
  const known = supplyReasons.find(one => one === reason)
  if (known === undefined) throw new Malformed('a credit record has an unknown reason')
  return { aid, amount: creditsOf(members, 'amount', 1), reason: known }
}

function readEpoch(payload: CborValue): Epoch {
  const members = membersOf(payload, [...EPOCH_NUMBERS, 'root'])
  const root = members.get('root')
  if (!(root instanceof Uint8Array) || root.length !== ROOT_BYTES)
    throw new Malformed('the root of an epoch is not 32 bytes')
  const numbers = Object.fromEntries(EPOCH_NUMBERS.map(name => [name, creditsOf(members, name, 0)]))
  return { ...(numbers as Omit<Epoch, 'root'>), root }
}

function membersOf(payload: CborValue, names: readonly string[]): Map<unknown, CborValue> {
  const isWhole =
    payload instanceof Map && payload.size === names.length && names.every(name => payload.has(name))
  if (!isWhole) throw new Malformed(`a supply record must have exactly ${names.join(', ')}`)
  return payload
}

function creditsOf(members: Map<unknown, CborValue>, name: string, min: number): number {
  const value = members.get(name)
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > CREDITS_MAX)
    throw new Malformed(`${name} of a supply record is no whole number from ${min}`)
  return value
}

/** What an epoch says that can't be true by itself; undefined when its figures fit each other. */
export function epochFault(epoch: Epoch, seq: number): string | undefined {
  const { issued, retired, outstanding, owed_by_peers, due_to_peers, root_sum, held } = epoch
  if (BigInt(outstanding) !== BigInt(issued) - BigInt(retired) + BigInt(owed_by_peers) - BigInt(due_to_peers))
    return 'outstanding is not what was issued less what was retired and what other hubs hold'
  if (root_sum !== outstanding) return 'the tree does not sum up to what is outstanding'
  if (held > outstanding) return 'more is held than is outstanding'
  if (epoch.from_day > epoch.day) return 'it ends before it begins'
  if (seq === 0 ? epoch.chain_hw !== 0 : epoch.chain_hw > seq - 1) return 'it counts records after itself'
  return undefined
}
