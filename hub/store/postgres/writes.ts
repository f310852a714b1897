/** Every change of this engine by name. */
import type { Rids } from '../rids.ts'
import { admit, block, putSetting, raiseFloor, refuseRange, setQuota } from './accounts.ts'
import { keepForkProof, markSeen, putAgent } from './agents.ts'
import { putBoardCard } from './board.ts'
import { putClearing } from './clearing.ts'
import type { GroupWriter } from './groups.ts'
import { addInvite, removeInvite } from './invites.ts'
import { returnSupply } from './ledger.ts'
import { ackWith, markFetched, sweep } from './mail.ts'
import { revoke } from './mail-rows.ts'
import { noteAct, putOfficial, removeOfficial } from './moderation.ts'
import { putOpenCard, removeOpenCard, retellOpenCard } from './open-cards.ts'
import {
  ackOpen,
  listOpen,
  noteAway,
  noteLeft,
  notePolled,
  putOpenProfile,
  sendOpen,
  setGuestQuota,
  sweepForwarded,
  sweepOpen,
} from './open-mail.ts'
import { dropUntold, forgetOpenAgents, rereadOpenAgents, takeOpenAgents } from './open-peers.ts'
import { addOpenReview } from './open-reviews.ts'
import { forgetPeerCards, takePeerCards } from './peer-cards.ts'
import {
  answerPeerPayment,
  askPeerPaymentAt,
  bookShown,
  dropPeerPayment,
  endPeerPayment,
  openPeerPayment,
  orderPeerPayment,
} from './peer-payments.ts'
import { post, postTogether } from './posting.ts'
import { enqueueWith } from './queueing.ts'
import { addReview, forgetPeerReviews, takePeerReviews } from './reviews.ts'
import { addProofPiece, appendEpoch } from './supply-rows.ts'
import { numberTold } from './told-numbers.ts'
import { keepAhead, keepStatement, putWitness, removeWitness } from './witnesses.ts'

export const writesWith = (rids: Rids) => ({
  enqueue: enqueueWith(rids),
  ack: ackWith(rids),
  markFetched,
  revoke,
  sweep,
  putAgent,
  markSeen,
  keepForkProof,
  addInvite,
  removeInvite,
  putBoardCard,
  putOpenProfile,
  listOpen,
  setGuestQuota,
  notePolled,
  noteAway,
  noteLeft,
  sendOpen,
  ackOpen,
  sweepForwarded,
  sweepOpen,
  putOfficial,
  removeOfficial,
  noteAct,
  putOpenCard,
  retellOpenCard,
  removeOpenCard,
  takeOpenAgents,
  rereadOpenAgents,
  dropUntold,
  forgetOpenAgents,
  takePeerCards,
  forgetPeerCards,
  numberTold,
  addOpenReview,
  addReview,
  takePeerReviews,
  forgetPeerReviews,
  raiseFloor,
  admit,
  block,
  refuseRange,
  setQuota,
  putSetting,
  post,
  postTogether,
  addProofPiece,
  appendEpoch,
  returnSupply,
  openPeerPayment,
  answerPeerPayment,
  orderPeerPayment,
  endPeerPayment,
  dropPeerPayment,
  askPeerPaymentAt,
  bookShown,
  putClearing,
  putWitness,
  removeWitness,
  keepStatement,
  keepAhead,
})

export type Writer = Pick<GroupWriter<ReturnType<typeof writesWith>>, 'write'>
