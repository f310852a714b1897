/** `svc doctor`: looks at a node from outside and names what mends each problem. It changes nothing. */
import { selectIdentity } from '../../daemon/home/home.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { connect, findTarget } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { checkHome } from '../doctor/home.ts'
import { checkClock, checkStatus } from '../doctor/running.ts'
import { type Io, messageOf, printJson } from '../io.ts'

export const doctor: Run = async (io, input) => {
  const { dir } = selectIdentity(io.env, input.id)
  const { finding, status } = await ask(io, input, dir)
  const url = status?.hub_url ?? undefined
  const home = checkHome(dir)
  const said = home.map(({ found }) => found).join('\n')
  const isOver = home.some(({ check, state }) => check === 'identity' && state === 'wrong')
  const isNew = (seen: Finding) =>
    seen.check === 'hub' ? !isOver : seen.check !== 'warning' || !said.includes(seen.found)
  const findings = [
    ...home,
    finding,
    ...(status === undefined ? [] : checkStatus(status).filter(isNew)),
    ...(url === undefined ? [] : [await checkClock(url, io.now)]),
  ]
  const bad = findings.filter(({ state }) => state === 'wrong').length
  printJson(io, { ok: bad === 0, wrong: bad, findings })
  return bad === 0 ? 0 : 1
}

/** Whether the node of this directory runs, and what it says. */
async function ask(io: Io, input: Input, dir: string): Promise<{ finding: Finding; status?: NodeStatus }> {
  const { entry } = findTarget(io, input)
  if (entry?.data_dir !== dir) return { finding: note('process', 'no node runs on this directory', 'svc up') }
  try {
    const status = await connect(io, input).call('status')
    return { finding: ok('process', `process ${entry.pid} answers`), status }
  } catch (error) {
    const mend = `svc logs; if it stays so: kill ${entry.pid}, then svc up`
    return { finding: wrong('process', `process ${entry.pid} does not answer: ${messageOf(error)}`, mend) }
  }
}
