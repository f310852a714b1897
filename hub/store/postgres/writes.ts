/** Every change of this engine by name. */
import { admit, block, putSetting, raiseFloor, refuseRange, setQuota } from './accounts.ts'
import { keepForkProof, markSeen, putAgent } from './agents.ts'
import { putBoardCard } from './board.ts'
import type { GroupWriter } from './groups.ts'
import { addInvite, removeInvite } from './invites.ts'

export const writes = {
  putAgent,
  markSeen,
  keepForkProof,
  addInvite,
  removeInvite,
  putBoardCard,
  raiseFloor,
  admit,
  block,
  refuseRange,
  setQuota,
  putSetting,
}

export type Writer = Pick<GroupWriter<typeof writes>, 'write'>
