/** The nine tools, in the order in which clients list them. */
import type { Tool } from '../tool.ts'
import { agentsFind } from './agents-find.ts'
import { creditBalance } from './credit-balance.ts'
import { evidenceRead } from './evidence-read.ts'
import { nodeStatus } from './node-status.ts'
import { taskDelegate } from './task-delegate.ts'
import { taskEnd } from './task-end.ts'
import { taskInbox } from './task-inbox.ts'
import { taskMessage } from './task-message.ts'
import { taskResults } from './task-results.ts'

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
