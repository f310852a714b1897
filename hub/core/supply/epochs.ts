/**
 * Epochs (objects: supply): what the hub owes at the end of a day, as figures and as the root of a tree in which each
 * account can find itself. Everything in one comes from one read of the store.
 */
import { compare, fromUtf8, utf8 } from '../../../protocol/encoding/bytes.ts'
import {
  EMPTY_ROOT,
  liabilityKey,
  liabilitySalt,
  type PathStep,
  type SumNode,
  sumLevels,
  widthsOf,
} from '../../../protocol/proof/liability.ts'
import type { Epoch } from '../../../protocol/proof/supply.ts'
import { booksAgree } from '../../store/books.ts'
import {
  type KeptEpoch,
  type LedgerSnapshot,
  type LedgerStore,
  NAMES_LEVEL,
  type ProofPiece,
} from '../../store/ledger-port.ts'

const HASH_BYTES = 32
const SUM_BYTES = 8
const AID_CHARS = 44
const NODE_BYTES = HASH_BYTES + SUM_BYTES
/** Names, or nodes, in one piece: a proof reads one piece of each level. */
const PIECE_ITEMS = 1024

/** An epoch, and what its proofs are made from. */
export type Built = { epoch: Epoch; pieces: Omit<ProofPiece, 'day'>[] }

/** The first record of a chain: nothing is owed yet. */
export function epochOfNothing(day: number): Built {
  const nothing = { agents: 0, holds: 0, issued: 0, retired: 0, owedByPeers: 0, dueToPeers: 0 }
  const snapshot = { totals: nothing, recount: nothing, ledgerHw: 0, head: undefined, owed: [] }
  return buildEpoch(snapshot, { day, fromDay: day, secret: new Uint8Array(HASH_BYTES) })
}

/** Whether the books of a snapshot agree, with the figures where they do not. */
export const judged = (
  snapshot: Pick<LedgerSnapshot, 'totals' | 'recount'>,
): { agree: true } | { disagree: Record<string, unknown> } =>
  booksAgree(snapshot)
    ? { agree: true }
    : { disagree: { totals: snapshot.totals, recount: snapshot.recount } }

export type EpochOf = { day: number; fromDay: number; secret: Uint8Array }

export type MadeEpoch = { built: Built } | { agree: true } | { disagree: Record<string, unknown> }
/** Makes an epoch from one read of the ledger; without a day the books are recounted and no more. */
export type EpochMaker = (of?: EpochOf) => Promise<MadeEpoch>

/** What becomes of a snapshot: an epoch where one is asked for and the books agree. */
export function madeFrom(snapshot: LedgerSnapshot, of: EpochOf | undefined): MadeEpoch {
  const verdict = judged(snapshot)
  return 'agree' in verdict && of !== undefined ? { built: buildEpoch(snapshot, of) } : verdict
}

/** Makes epochs in this thread, where no other one can read the store. */
export const epochsHere =
  (store: Pick<LedgerStore, 'snapshot'>): EpochMaker =>
  async of =>
    madeFrom(await store.snapshot(), of)

/** The epoch of a snapshot whose books agree. */
export function buildEpoch(
  { totals, ledgerHw, head, owed }: LedgerSnapshot,
  { day, fromDay, secret }: EpochOf,
): Built {
  const accounts = owed
    .map(({ aid, amount }) => ({ aid, sum: amount, key: liabilityKey(aid, liabilitySalt(secret, aid, day)) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
  const levels = sumLevels(accounts)
  const root = levels.at(-1)?.[0] ?? EMPTY_ROOT
  const epoch: Epoch = {
    day,
    from_day: fromDay,
    issued: totals.issued,
    retired: totals.retired,
    outstanding: totals.agents + totals.holds,
    held: totals.holds,
    owed_by_peers: totals.owedByPeers,
    due_to_peers: totals.dueToPeers,
    root: root.h,
    root_sum: root.sum,
    depth: levels.length - 1,
    accounts: accounts.length,
    ledger_hw: ledgerHw,
    chain_hw: Math.max(0, head?.seq ?? 0),
  }
  return { epoch, pieces: [...namePieces(accounts), ...levels.flatMap(nodePieces)] }
}

/** Pieces of so many items, each filled by `fill` with the items from one on to another. */
function piecesOf(
  level: number,
  count: number,
  fill: (from: number, to: number) => Uint8Array,
): Omit<ProofPiece, 'day'>[] {
  return Array.from({ length: Math.ceil(count / PIECE_ITEMS) }, (_, piece) => {
    const from = piece * PIECE_ITEMS
    return { level, piece, bytes: fill(from, Math.min(count, from + PIECE_ITEMS)) }
  })
}

const namePieces = (accounts: readonly { aid: string }[]): Omit<ProofPiece, 'day'>[] =>
  piecesOf(NAMES_LEVEL, accounts.length, (from, to) =>
    utf8(
      accounts
        .slice(from, to)
        .map(({ aid }) => aid)
        .join(''),
    ),
  )

function nodePieces(nodes: readonly SumNode[], level: number): Omit<ProofPiece, 'day'>[] {
  return piecesOf(level, nodes.length, (from, to) => {
    const packed = new Uint8Array((to - from) * NODE_BYTES)
    const view = new DataView(packed.buffer)
    for (const [at, { h, sum }] of nodes.slice(from, to).entries()) {
      packed.set(h, at * NODE_BYTES)
      view.setBigUint64(at * NODE_BYTES + HASH_BYTES, BigInt(sum))
    }
    return packed
  })
}

function unpackNode(packed: Uint8Array): SumNode {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  return { h: packed.subarray(0, HASH_BYTES), sum: Number(view.getBigUint64(HASH_BYTES)) }
}

/** An account's own proof: what it is owed, and the way to the root. */
export type AccountProof = { amount: number; path: PathStep[] }
type Kept = KeptEpoch & { secret: Uint8Array }

/** The proof of an account in an epoch, from one piece of each level; undefined where it was owed nothing. */
export async function proofOf(
  store: LedgerStore,
  kept: Kept,
  aid: string,
): Promise<AccountProof | undefined> {
  const { day, accounts } = kept
  const nodeAt = async (level: number, at: number): Promise<SumNode> =>
    unpackNode(await itemAt(store, { day, level, at, bytes: NODE_BYTES }))
  const position = await positionOf(store, kept, aid)
  if (position === undefined) return undefined
  const path: PathStep[] = []
  let at = position
  for (const [level, width] of widthsOf(accounts).slice(0, -1).entries()) {
    const isRight = at % 2 === 1
    const beside = isRight ? at - 1 : at + 1
    if (beside < width) path.push({ ...(await nodeAt(level, beside)), side: isRight ? 'left' : 'right' })
    at = Math.floor(at / 2)
  }
  return { amount: (await nodeAt(0, position)).sum, path }
}

/** Leaves ascend by their keys, which follow from their names. */
async function positionOf(
  store: LedgerStore,
  { day, accounts, secret }: Kept,
  aid: string,
): Promise<number | undefined> {
  const keyOf = (name: string): Uint8Array => liabilityKey(name, liabilitySalt(secret, name, day))
  const wanted = keyOf(aid)
  let first = 0
  let end = accounts
  while (first < end) {
    const at = Math.floor((first + end) / 2)
    const name = fromUtf8(await itemAt(store, { day, level: NAMES_LEVEL, at, bytes: AID_CHARS }))
    if (name === aid) return at
    if (compare(keyOf(name), wanted) < 0) first = at + 1
    else end = at
  }
  return undefined
}

async function itemAt(
  store: LedgerStore,
  { day, level, at, bytes }: { day: number; level: number; at: number; bytes: number },
): Promise<Uint8Array> {
  const piece = Math.floor(at / PIECE_ITEMS)
  const held = await store.proofPiece({ day, level, piece })
  if (held === undefined) throw new Error(`piece ${piece} of level ${level} of day ${day} is missing`)
  const start = (at % PIECE_ITEMS) * bytes
  return held.subarray(start, start + bytes)
}
