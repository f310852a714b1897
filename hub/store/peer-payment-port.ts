/**
 * Payments in the credits of peers (credits: between hubs): each is kept before its peer is asked, and until the peer has
 * answered. One that has not ended keeps its amount of what the peer may owe this hub.
 */
import type { Posting, PostResult } from './ledger-port.ts'

/** `asked`: not answered yet · `held`: the peer holds the amount · `ended`: paid, taken or given back. */
export type PeerPaymentState = 'asked' | 'held' | 'ended'

/** What an agent of this hub is to get from an account at a peer. */
export type AskedPayment = {
  transaction: Uint8Array
  peer: string
  payee: string
  amount: number
  authorization: Uint8Array
  /** How long its payee asked the hold to last; undefined where none was asked for. */
  holdSeconds: number | undefined
}

export type PeerPayment = AskedPayment & {
  state: PeerPaymentState
  /** What this hub and its peer signed of the payment or the hold, and then of the end of the hold. */
  receipt: Uint8Array | undefined
  peerReceipt: Uint8Array | undefined
  endReceipt: Uint8Array | undefined
  peerEndReceipt: Uint8Array | undefined
  /** What the payee signed about the end of the hold. */
  order: Uint8Array | undefined
  /** When this hub asks its peer by itself; undefined where nothing is to be asked. */
  askAtMs: number | undefined
}

/** `creditMax`: what the peer may owe, all that is open included · `openMax`: so many payments may be open. */
export type OpenPeerPayment = AskedPayment & { askAtMs: number; creditMax: number; openMax: number }

/** What the peer signed, what this hub signs of it, and what is posted with it. */
export type AnsweredPeerPayment = {
  asked: AskedPayment
  receipt: Uint8Array
  peerReceipt: Uint8Array
  /** Of a hold: when to ask how it ended. */
  askAtMs?: number | undefined
  posting?: Posting | undefined
}
export type EndedPeerPayment = Omit<AnsweredPeerPayment, 'askAtMs' | 'asked'> & { transaction: Uint8Array }

/** What both signed of a payment of which this hub has no row; `creditMax`: what the peer may owe with it. */
export type ShownPayment = {
  asked: AskedPayment
  isEnd: boolean
  receipt: Uint8Array
  peerReceipt: Uint8Array
  posting: Posting
  creditMax: number
}

/** `over`: the peer would owe too much, or too many are open. */
export type OpenResult = { outcome: 'opened' | 'over' } | { outcome: 'found'; payment: PeerPayment }

/** What a peer owes (below 0: is owed), and the sum of the payments that are open. */
export type PeerCredit = { owes: number; open: number }

export interface PeerPaymentStore {
  peerPayment(transaction: Uint8Array): Promise<PeerPayment | undefined>
  openPeerPayment(given: OpenPeerPayment): Promise<OpenResult>
  /** A payment that the peer refused is kept no more, unless it was answered before. */
  dropPeerPayment(transaction: Uint8Array): Promise<void>
  /** Keeps that a payment was made or is held, also where its row has gone; what is posted counts once. */
  answerPeerPayment(given: AnsweredPeerPayment): Promise<PostResult['outcome']>
  /** Keeps what the payee ordered of a hold that has not ended; a later order takes the place of an earlier one. */
  orderPeerPayment(given: { transaction: Uint8Array; order: Uint8Array; askAtMs: number }): Promise<void>
  /** Keeps how a hold has ended; what is posted counts once. */
  endPeerPayment(given: EndedPeerPayment): Promise<PostResult['outcome']>
  /** Books a payment of which this hub has no row, with what both signed; `over`: the peer would owe too much. */
  bookShown(given: ShownPayment): Promise<PostResult['outcome'] | 'over'>
  /** Payments about which their peers are to be asked by now, the longest first. */
  duePeerPayments(nowMs: number, limit: number): Promise<PeerPayment[]>
  askPeerPaymentAt(given: { transaction: Uint8Array; askAtMs: number }): Promise<void>
  peerCredit(peer: string): Promise<PeerCredit>
}
