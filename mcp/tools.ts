/** The nine tools, in the order in which clients list them. */
import type { Tool } from './tool.ts'
import { agentsFind } from './tools/agents-find.ts'
import { creditBalance } from './tools/credit-balance.ts'
import { evidenceRead } from './tools/evidence-read.ts'
import { nodeStatus } from './tools/node-status.ts'
import { taskDelegate } from './tools/task-delegate.ts'
import { taskEnd } from './tools/task-end.ts'
import { taskInbox } from './tools/task-inbox.ts'
import { taskMessage } from './tools/task-message.ts'
import { taskResults } from './tools/task-results.ts'

export const tools = [
  agentsFind,
  taskDelegate,
  taskResults,
  taskInbox,
  taskMessage,
  taskEnd,
  evidenceRead,
  creditBalance,
  nodeStatus,
] as unknown as readonly Tool[]
