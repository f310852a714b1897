/** Running nodes as commands name and show them. */
import type { DaemonEntry } from '../../daemon/home/home.ts'
import { CommandFailed } from '../io.ts'

export type Running = Pick<DaemonEntry, 'aid' | 'pid' | 'control_addr' | 'data_dir'>

/** What is shown of a running node. */
export const describe = (entry: Running): Running => ({
  aid: entry.aid,
  pid: entry.pid,
  control_addr: entry.control_addr,
  data_dir: entry.data_dir,
})

/** A process that is there and says nothing. */
export class HungNode extends CommandFailed {
  constructor({ data_dir: dir, pid }: DaemonEntry) {
    super(
      `the node of ${dir} runs (pid ${pid}) but does not answer`,
      `svc logs\nif it stays so: kill ${pid} and then svc up`,
    )
  }
}
