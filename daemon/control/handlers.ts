/** What every operation of the node looks like as a plain function. */
import type { QueryOf, ReplyOf, RequestOf } from '../../protocol/contract/route.ts'
import type { OperationName, Operations } from '../../protocol/control/operations.ts'

type Given<R> = R extends { request: unknown } ? RequestOf<R> : QueryOf<R>

/** One function for each operation; the signal ends waiting, never work that is committed. */
export type Handlers = {
  [N in OperationName]: (given: Given<Operations[N]>, signal: AbortSignal) => Promise<ReplyOf<Operations[N]>>
}

export type TaskOperations = Pick<
  Handlers,
  | 'delegate'
  | 'inbox'
  | 'interactions'
  | 'search'
  | 'results'
  | 'thread'
  | 'message'
  | 'pull'
  | 'attachmentLink'
  | 'end'
  | 'cancel'
  | 'sending'
  | 'archive'
  | 'anew'
  | 'approve'
  | 'decline'
  | 'review'
  | 'acceptReceipt'
  | 'verify'
>

export type PaymentOperations = Pick<
  Handlers,
  | 'prices'
  | 'priceSet'
  | 'spend'
  | 'spendSet'
  | 'payHeader'
  | 'redeem'
  | 'moveCredits'
  | 'refund'
  | 'reconcile'
  | 'auditHub'
>
export type A2aOperations = Pick<Handlers, 'a2a' | 'a2aSet' | 'a2aToken'>
export type NodeOperations = Omit<
  Handlers,
  keyof TaskOperations | keyof PaymentOperations | keyof A2aOperations
>
