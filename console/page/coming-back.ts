/** What a page says of a node that was away, once that answers again. */
import type { View } from '../../view/state.ts'
import type { App } from './app.ts'

/** It was asked and did not answer: whether it was done is seen in what it shows now. */
const LOOK = 'the node did not answer then, and does now; look whether it was done before you repeat it'
/** The same words are taken once. */
const SEND = 'the node did not answer then, and does now; send it once more'

/** Follows the connection; each time that it is found again, faults that say that it is away are over. */
export function comingBack(app: App): () => void {
  let before: View['connection']['state'] = 'connecting'
  return () => {
    const { state } = app.view.connection
    const isBack = state === 'live' && (before === 'lost' || before === 'stopped')
    before = state
    if (isBack) renew(app)
  }
}

function renew(app: App): void {
  const { ui } = app
  const { dialog } = ui
  if (dialog?.isGone === true && dialog.fault !== undefined)
    app.set({ dialog: { ...dialog, fault: LOOK, isGone: false } })
  for (const [id, { fault, isGone }] of ui.drafts)
    if (isGone === true && fault !== undefined) app.setDraft(id, { fault: SEND, isGone: false })
  for (const [aid, { fault, isGone }] of ui.orders)
    if (isGone === true && fault !== undefined) app.setOrder(aid, { fault: SEND, isGone: false })
}
