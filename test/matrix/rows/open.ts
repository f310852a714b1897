/** What waits in open mail too. */
import { counted } from '../../../daemon/store/counters.ts'
import { taskParts } from '../../../daemon/tasks/open.ts'
import { answered, over, type Row, tell } from '../row.ts'
import { mail } from './mail.ts'
import { proofs, taskSigned } from './proofs.ts'
import { agents, calls, clients } from './work.ts'

const { signal } = new AbortController()
const TAKES_BACK = 'the other side takes back its capabilities'
/** Nothing is sealed there, and nothing is held until work is done. */
const elsewhere = /capabilities|top-up|paid|price|hold|credits|refund|quote/

const open = (rows: readonly Row[]): Row[] =>
  rows
    .filter(({ name }) => !elsewhere.test(name))
    .map(row => ({ ...row, cannot: { ...row.cannot, [TAKES_BACK]: 'open mail has none' } }))

/** The hub of the recipient shows what it was told before the sender's key was rotated. */
const underNewKey: Row = {
  name: 'a message under a key that its hub does not show yet',
  async begin(world) {
    const waiting = await answered(world)
    const { alice, bob } = world
    const before = [...alice.ctx.identity.log.events]
    bob.hub.answers({ fetchLog: async () => before })
    await alice.parts.membership.rotate(signal)
    tell(world, alice, waiting.id, 'one more thing')
    await alice.send()
    await bob.parts.relay.drain(bob.hub, 0)
    if (counted(bob.ctx.store, 'sender_awaited') === 0) throw new Error('the message is not left at its hub')
    return waiting
  },
}

export const openMail: readonly Row[] = open([...mail, underNewKey])

/** A review that says what it publishes, which its hub has not taken. */
const published: Row = {
  name: 'a review that its person lets be published',
  cannot: over,
  async begin(world) {
    const id = await taskSigned(world)
    const { ctx, node, hub, parts } = world.alice
    hub.answers({ give: () => Promise.reject(world.unreached()) })
    const given = { rating: 5, comment: '', publish: true }
    ctx.store.transaction(() => taskParts(ctx).ratings.keep(node.thread(id), given))
    await parts.reviews.look()
    return { world, here: world.alice, there: world.bob, id }
  },
}

export const openWork: readonly Row[] = open([...proofs, published, ...calls, ...agents, ...clients])
