/** `svc doctor`: looks at a node from outside and names what mends each problem. It changes nothing. */
import { selectIdentity } from '../../daemon/home/home.ts'
import { holderOf } from '../../daemon/home/lock.ts'
import { otherNode, sayOther, stopOf } from '../../daemon/home/only-node.ts'
import { peekIdentity } from '../../daemon/identity/identity.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { connect, findTarget } from '../client/control.ts'
import { HungNode } from '../client/entries.ts'
import type { Input, Run } from '../command.ts'
import { checkHome } from '../doctor/home.ts'
import { checkParts } from '../doctor/parts.ts'
import { checkClock, checkStatus, type HubSeen } from '../doctor/running.ts'
import { type Io, messageOf, printReply } from '../io.ts'

export const doctor: Run = async (io, input) => {
  const { dir } = selectIdentity(io.env, input.id)
  const { finding, status, isAlone } = await ask(io, input, dir)
  const url = status?.hub_url ?? undefined
  const home = checkHome(dir)
  const isOver = home.some(({ check, state }) => check === 'identity' && state === 'wrong')
  const hub = url === undefined ? UNASKED : await checkClock(url, io)
  const seen = status === undefined ? [] : checkStatus(status, hub)
  const said = [...home, ...seen.filter(({ check }) => check === 'hub')].map(({ found }) => found).join('\n')
  const isNew = ({ check, found }: Finding) =>
    check === 'hub' ? !isOver : check !== 'warning' || !said.includes(found)
  const findings = [
    ...home,
    ...(isAlone && !isWithout(home) ? await checkParts(dir) : []),
    finding,
    ...seen.filter(isNew),
    ...hub.findings,
  ]
  const bad = findings.filter(({ state }) => state === 'wrong').length
  printReply(io, { ok: bad === 0, wrong: bad, findings })
  return bad === 0 ? 0 : 1
}

const UNASKED: HubSeen = { answers: false, isApart: false, findings: [] }

/** Whether there is no identity whose files could be looked at. */
const isWithout = (home: readonly Finding[]) =>
  !home.some(({ check, state }) => check === 'identity' && state === 'ok')

/** `isAlone`: nobody works on the directory, so that its files are whole. */
type Asked = { finding: Finding; status?: NodeStatus; isAlone: boolean }

/** Whether the node of this directory runs, and what it says. */
async function ask(io: Io, input: Input, dir: string): Promise<Asked> {
  const { entry } = findTarget(io, input)
  if (entry?.data_dir !== dir) return askUnlisted(io, input, dir)
  try {
    const status = await statusOf(io, input)
    return { finding: ok('process', `process ${entry.pid} answers`), status, isAlone: false }
  } catch (error) {
    const mend = `look at svc logs – if it stays so: kill ${entry.pid} and then svc up`
    const found =
      error instanceof HungNode ? error.message : `process ${entry.pid} does not answer: ${messageOf(error)}`
    return { finding: wrong('process', found, mend), isAlone: false }
  }
}

/** What the node says of itself, once it has looked again at a hub to which it had stopped talking. */
async function statusOf(io: Io, input: Input): Promise<NodeStatus> {
  const node = connect(io, input)
  const status = await node.call('status')
  if (status.hub?.state !== 'stopped' || status.old_copy) return status
  const { talking } = await node.call('hubLook', {}).catch(() => ({ talking: false }))
  return talking ? await node.call('status') : status
}

/** A key that cannot be read is another finding. */
function findAid(dir: string): string | undefined {
  try {
    return peekIdentity(dir)?.aid
  } catch {
    return undefined
  }
}

/** No node is listed: none runs, a command works there for a while, or a node holds the directory before it answers. */
async function askUnlisted(io: Io, input: Input, dir: string): Promise<Asked> {
  const holder = holderOf(dir)
  const aid = holder === undefined ? findAid(dir) : undefined
  const other = aid === undefined ? undefined : otherNode(io.env, aid, dir)
  if (other !== undefined)
    return { finding: wrong('process', sayOther(other), `${stopOf(other)} && svc up`), isAlone: true }
  if (holder === undefined)
    return { finding: note('process', 'no node runs on this directory', 'svc up'), isAlone: true }
  const wait = 'wait for it, then svc doctor'
  if (!holder.isNode)
    return { finding: note('process', 'another command works on this directory', wait), isAlone: false }
  try {
    const status = await connect(io, input).call('status')
    return { finding: ok('process', 'a node answers'), status, isAlone: false }
  } catch {
    return { finding: note('process', 'a node is about to start or to end', wait), isAlone: false }
  }
}
