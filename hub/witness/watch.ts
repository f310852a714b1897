/**
 * One look of a witness at the supply chain of another hub (objects: supply): every record since its last look is verified,
 * then the head is signed, kept, and told. It never signs a lower record than before, nor another one at the same place.
 */
import { cidText, parseCid } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { compareKel, decodeKel, encodeKel, storedKel, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { ChainInvalid, chainDid } from '../../protocol/proof/evidence.ts'
import { SupplyFault, type SupplyPlace, SupplyReader } from '../../protocol/proof/supply-reader.ts'
import { statementHolds, type WitnessBody, WitnessStatement } from '../../protocol/proof/witness.ts'
import type { HubIdentity } from '../core/identity.ts'
import { faultPoint } from '../faults.ts'
import type { WatchedChain, WatchedChains } from '../store/witness-port.ts'
import type { OtherHub } from './other-hub.ts'

/** What a hub shows does not go on from what was signed: nothing is signed any more. */
export class ChainContradicted extends Refusal<'chain'> {
  override name = 'ChainContradicted'
  constructor(hub: string, why: string) {
    super('chain', `nothing is signed about hub ${hub}: ${why}; what it showed is kept as evidence`)
  }
}

export type Looked = { hub: string; seq: number; head_id: string; observed_at: string; status: string }
type Witness = { identity: HubIdentity; chains: WatchedChains; now: () => number }

/** Looks once; throws {@link ChainContradicted}, and what the other hub refuses. */
export async function lookAt(other: OtherHub, witness: Witness): Promise<Looked> {
  const { identity, chains, now } = witness
  const log = await other.log()
  const hub = log.aid
  if (hub === identity.aid)
    throw new ChainContradicted(hub, 'it is this hub itself, which cannot be its own witness')
  const held = await chains.chain(hub)
  try {
    requireSameHub(log, held)
    const { reader, records } = await follow(other, log, held, witness)
    const length = reader.head.length
    const body: WitnessBody = {
      v: 1,
      chainDid: chainDid(hub),
      seq: length - 1,
      headId: reader.head.head,
      observedAt: now(),
      witness: identity.aid,
      witnessKelSeq: identity.seq,
    }
    const statement = WitnessStatement.encode(WitnessStatement.sign(identity.seed, body))
    const before = held?.length ?? 0
    const place = placeText(reader.place)
    const followed = { hub, before, records, kel: encodeKel(log.events), length, place, statement }
    if (!(await chains.keep(followed)))
      throw new ChainContradicted(hub, 'another command of this witness follows the same hub; run one')
    faultPoint('witness.stored')
    const status = await other.submit(identity.aid, statement, identity.kelBytes)
    const observed = new Date(body.observedAt).toISOString()
    return { hub, seq: body.seq, head_id: cidText(body.headId), observed_at: observed, status }
  } catch (error) {
    if (held !== undefined && isContradiction(error))
      await other.submit(identity.aid, held.statement, identity.kelBytes).catch(() => undefined)
    if (!isContradiction(error)) throw error
    if (error instanceof Shown) await chains.keepConflict(hub, now(), error.message, error.record)
    throw error instanceof ChainContradicted ? error : new ChainContradicted(hub, error.message)
  }
}

/** A record that can't stand where it was shown. */
class Shown extends Error {
  readonly record: Uint8Array | undefined
  constructor(why: string, record?: Uint8Array) {
    super(why)
    this.record = record
  }
}

const isContradiction = (error: unknown): error is Error =>
  error instanceof Shown || error instanceof ChainContradicted

function requireSameHub(log: VerifiedKel, held: WatchedChain | undefined): void {
  if (held === undefined) return
  const { verdict } = compareKel(storedKel(decodeKel(held.kel)), log.events)
  if (verdict === 'fork' || verdict === 'rollback')
    throw new Shown(`its key history does not go on from the one that was seen before (${verdict})`)
}

/** Reads from the last epoch that is kept, and on to the head that the hub names. */
async function follow(
  other: OtherHub,
  log: VerifiedKel,
  held: WatchedChain | undefined,
  { identity, chains }: Witness,
): Promise<{ reader: SupplyReader; records: Uint8Array[] }> {
  const place = held && placeOf(held.place)
  const reader = new SupplyReader(log, { own: undefined, ...(place && { from: place }) })
  const floors = held === undefined ? await ownStatements(other, log, identity) : []
  if (place !== undefined)
    for (const record of await chains.records(log.aid, place.length)) add(reader, record)
  const records: Uint8Array[] = []
  for (let isLast = false; !isLast; ) {
    const page = await other.supplyPage(log.aid, reader.head.length)
    for (const record of page.records) {
      add(reader, record)
      records.push(record)
      requireFloor(reader, floors)
    }
    isLast = page.isLast
    if (isLast) requireHead(reader, page, records.length > 0)
  }
  for (const { seq } of floors)
    if (seq >= reader.head.length) throw new Shown(`record ${seq}, which was signed before, is missing`)
  return { reader, records }
}

function add(reader: SupplyReader, record: Uint8Array): void {
  try {
    reader.add(record)
  } catch (error) {
    if (error instanceof SupplyFault || error instanceof ChainInvalid || error instanceof Malformed)
      throw new Shown(error.message, record)
    throw error
  }
}

function requireHead(
  { head }: SupplyReader,
  told: { headSeq: number; headId: string },
  hasGrown: boolean,
): void {
  const { length, head: id } = head
  if (told.headSeq < length - 1)
    throw new Shown(`its chain ends at record ${told.headSeq}, and record ${length - 1} was signed before`)
  if (!hasGrown && told.headSeq === length - 1 && !equal(parseCid(told.headId), id))
    throw new Shown(
      `record ${told.headSeq} is another one than ${cidText(id)}, which was signed before: its files went back in time, and a second history began`,
    )
  if (told.headSeq !== length - 1 || !equal(parseCid(told.headId), id))
    throw new Shown(`the head that it names, record ${told.headSeq}, is not the last one that it shows`)
}

/** What this witness signed before it lost its file: the hub shows it still. */
async function ownStatements(
  other: OtherHub,
  log: VerifiedKel,
  { aid, kel }: HubIdentity,
): Promise<WitnessBody[]> {
  const shown = (await other.statementsOf(aid)).map(bytes => WitnessStatement.decode(bytes))
  return shown
    .filter(statement => statement.body.chainDid === chainDid(log.aid) && statementHolds(kel, statement))
    .map(({ body }) => body)
}

function requireFloor({ head }: SupplyReader, floors: readonly WitnessBody[]): void {
  const other = floors.find(({ seq, headId }) => seq === head.length - 1 && !equal(headId, head.head))
  if (other !== undefined)
    throw new Shown(
      `record ${other.seq} is another one than ${cidText(other.headId)}, which was signed before`,
    )
}

const placeText = ({ head, ...place }: SupplyPlace): string =>
  JSON.stringify({ ...place, head: toBase64url(head) })

function placeOf(text: string): SupplyPlace {
  const { head, ...place } = JSON.parse(text) as Omit<SupplyPlace, 'head'> & { head: string }
  return { ...place, head: fromBase64url(head) }
}
