import { describe, expect, test } from 'vitest'
import type { InteractionSummary, News } from '../protocol/control/shapes.ts'
import { channelMessage } from './channel.ts'

const id = 'AAAAAAAAAAAAAAAAAAAAAA'
const item = (news?: News) =>
  ({
    interaction_id: id,
    side: 'received',
    state: 'end_proposed',
    peer: 'A',
    peer_name: 'alice',
    unread: 1,
    unread_preview: 'old words',
    news,
  }) as InteractionSummary
const said = (news?: News) => channelMessage(item(news))?.content

describe('news in a session', () => {
  test('of an end that is proposed are words of ours, and repeat none of the other side', () => {
    expect(said({ proposes_end: true })).toBe(
      `alice proposes to end task ${id}. Read it: task_inbox {"interaction_id":"${id}"}`,
    )
  })

  test('of last words and the end are one', () => {
    expect(said({ wrote: true, preview: 'bye', proposes_end: true })).toMatch(
      /^alice wrote in a task for you: <<untrusted [0-9a-f]{8}>>bye<<.*alice proposes to end task A+\. Read it: /,
    )
  })

  test('are none where nothing is new, whatever is unread, and none of strangers', () => {
    expect(said()).toBeUndefined()
    expect(channelMessage({ ...item({ wrote: true }), peer_name: null })).toBeUndefined()
  })
})
