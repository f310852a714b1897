/** Nodes that pay and are paid, for tests of the rules: their parts take one turn at a time, where a running node has loops. */

import { contentId } from '../../protocol/crypto/hash.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import { keyStateOf } from '../membership/open.ts'
import { type Accounts, homeOnly } from '../payments/accounts.ts'
import type { Payee } from '../payments/payee.ts'
import type { Payer } from '../payments/payer.ts'
import type { Wallet } from '../payments/wallet.ts'
import { payeeOf, payerOf, walletOf } from '../payments/x402.ts'
import { addPayment, type PaymentRow, paymentOf } from '../store/payments.ts'
import { quoteOf } from '../store/quotes.ts'
import type { Calls } from '../tasks/calls.ts'
import { openCalls, taskParts } from '../tasks/open.ts'
import { type TestNode, TestWorld } from './node.ts'
import { Post, ScriptedHub } from './scripted-hub.ts'

/** What a task in words costs in this world. */
export const PRICE = 5
export const GRANTED = 100
const OTHER_SEED = new Uint8Array(32).fill(203)
const TURNS_MAX = 12
/** Longer than a hub that gave no answer is left alone at first. */
const TURN_MS = 1000

export class PayingNode {
  readonly node: TestNode
  readonly payer: Payer
  readonly payee: Payee
  readonly calls: Calls
  readonly wallet: Wallet

  constructor(node: TestNode, accounts: Accounts = homeOnly(node.ctx.hub)) {
    this.node = node
    const { ctx } = node
    this.payer = payerOf(ctx, (task, pay) => taskParts(ctx).committed.commit(task, pay), accounts)
    this.payee = payeeOf(ctx, accounts)
    const words = {
      find: () => undefined,
      priceOf: ctx.modules.priceOf,
      startsOf: () => undefined,
      run: () => Promise.reject(new Error()),
    }
    this.calls = openCalls(ctx, words, this.payee)
    this.wallet = walletOf(ctx, accounts)
  }

  /** What this side knows of the payment of a task. */
  payment(id: string): PaymentRow | undefined {
    return paymentOf(this.node.ctx.store, this.node.thread(id).key)
  }

  /** Everything that its loops would do now. */
  async turn(): Promise<void> {
    await this.calls.look()
    await this.payee.look()
    await this.payer.look()
  }

  async stop(): Promise<void> {
    await Promise.all([this.calls.stop(), this.payee.stop(), this.payer.stop()])
  }
}

/** Alice has credits, bob asks some for each task in words. */
export class PaidWorld extends TestWorld {
  #paying: PayingNode[] = []

  async paid(): Promise<{ alice: PayingNode; bob: PayingNode }> {
    const pair = await this.pair()
    const [alice, bob] = [this.pays(pair.alice), this.pays(pair.bob)]
    this.post.ledger.grant(alice.node.aid, GRANTED)
    bob.node.ctx.settings.change({ prices: { [TASK]: PRICE } })
    return { alice, bob }
  }

  /** Gives a node what pays and is paid. */
  pays(node: TestNode): PayingNode {
    const paying = new PayingNode(node, this.#accountsOf(node))
    this.#paying.push(paying)
    return paying
  }

  /** Another hub, which becomes the home of a node; its account at the first one stays. */
  move({ node }: PayingNode): Post {
    const post = new Post({ now: () => this.clock.ms, seed: OTHER_SEED, url: 'http://other.test' })
    const home = new ScriptedHub(post, node.aid, () => this.clock.ms)
    node.ctx.hub.settleAt(home)
    node.ctx.identity.rotate(home.identity.aid, this.clock.ms)
    keyStateOf(node.ctx).settle(home)
    return post
  }

  #accountsOf(node: TestNode): Accounts {
    return {
      accountOf: async network => {
        const { home } = node.ctx.hub
        const known = [home, node.hub].find(hub => hub && networkOf(hub.identity.aid) === network)
        if (known === node.hub) await known.pushLog(node.ctx.identity.log)
        return known
      },
    }
  }

  get network(): string {
    return networkOf(this.post.log.aid)
  }

  /** Carries mail and lets every part take its turn, until nothing moves. */
  async turns(count = 3): Promise<void> {
    for (let turn = 0; turn < count; turn++) {
      await this.settle()
      for (const paying of this.#paying) await paying.turn()
      this.pass(TURN_MS)
    }
    await this.settle()
  }

  /** A task of alice's that she delegated anew with its payment; its id, before bob has seen it. */
  async authorized(alice: PayingNode, bob: PayingNode): Promise<string> {
    const { ctx } = alice.node
    const quoted = taskParts(ctx).delegation.delegate({
      to: bob.node.aid,
      task: 'a poem',
      pay: true,
      max_credits: PRICE,
    })
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      await this.settle()
      await bob.calls.look()
      await this.settle()
      await alice.payer.look()
      const paidAs = quoteOf(ctx.store, alice.node.thread(quoted).key)?.paidAs ?? null
      if (paidAs !== null) return ctx.threads.byKey(paidAs).id
    }
    throw new Error('the task was not paid for')
  }

  /** One whose credits the hub holds, and that bob may answer. */
  async held(alice: PayingNode, bob: PayingNode): Promise<string> {
    const id = await this.authorized(alice, bob)
    await this.turns(1)
    if (bob.payment(id)?.state !== 'held') throw new Error('the credits are not held')
    return id
  }

  /** One that bob has answered; its answer waits for the hub's word. */
  async answered(alice: PayingNode, bob: PayingNode): Promise<string> {
    const id = await this.held(alice, bob)
    bob.node.say(id, 'roses are red')
    return id
  }

  /** More tasks of alice's; at bob each has a payment that stands as that of a first one, and is newer. */
  async copies(alice: PayingNode, bob: PayingNode, of: string, count: number): Promise<string[]> {
    const row = bob.payment(of)
    if (row === undefined) throw new Error('there is no payment')
    const ids = Array.from({ length: count }, () => alice.node.delegate(bob.node).id)
    await this.settle()
    const { store } = bob.node.ctx
    ids.forEach((id, n) => {
      const { key: interaction } = bob.node.thread(id)
      const [payment, at] = [contentId(Uint8Array.of(n)), row.at + n + 1]
      const { side, amount, network, authorization, salt, holdUntil, orderedBy } = row
      addPayment(store, {
        ...{ interaction, payment, at, side, amount, network, authorization, salt, holdUntil, orderedBy },
      })
      store.run(
        'UPDATE payments SET state = ?, held_receipt = ?, end_order = ? WHERE interaction = ?',
        ...[row.state, row.heldReceipt, row.endOrder, interaction],
      )
    })
    return ids
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const paying of this.#paying) await paying.stop()
    await super[Symbol.asyncDispose]()
  }
}
