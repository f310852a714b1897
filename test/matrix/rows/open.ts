/** What waits in open mail too. */
import { taskParts } from '../../../daemon/tasks/open.ts'
import { over, type Row } from '../row.ts'
import { mail } from './mail.ts'
import { proofs, taskSigned } from './proofs.ts'
import { agents, calls } from './work.ts'

const TAKES_BACK = 'the other side takes back its capabilities'
/** Nothing is sealed there, and nothing is held until work is done. */
const elsewhere = /capabilities|top-up|paid|price|hold|credits|refund|quote/

const open = (rows: readonly Row[]): Row[] =>
  rows
    .filter(({ name }) => !elsewhere.test(name))
    .map(row => ({ ...row, cannot: { ...row.cannot, [TAKES_BACK]: 'open mail has none' } }))

export const openMail: readonly Row[] = open(mail)

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

export const openWork: readonly Row[] = open([...proofs, published, ...calls, ...agents])
