/**
 * A program that answers tasks as the compatibility kit of A2A wants its agent to (its scenarios/*.feature), run by the
 * exec backend. A provider behind sealed mail sees no message ids of clients, so the words of a task end with theirs.
 */
const text = text => ({ parts: [{ text }] })
const task = (state, more = {}) => ({ task: { status: { state: `TASK_STATE_${state}` }, ...more } })
const done = (...parts) =>
  task('COMPLETED', { artifacts: parts.map(part => ({ artifactId: 'out', parts: [part] })) })
const file = { raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' }

/** By the beginnings of message ids, longer ones first. */
const answers = {
  'tck-stream-artifact-chunked': done({ text: 'chunk-1 ' }, { text: 'chunk-2' }),
  'tck-stream-artifact-text': done({ text: 'Streamed text content' }),
  'tck-stream-artifact-file': done(file),
  'tck-stream-ordering-001': done({ text: 'Ordered output' }),
  'tck-stream-001': done({ text: 'Stream hello from TCK' }),
  'tck-stream-002': task('COMPLETED'),
  'tck-stream-003': done({ text: 'Stream task lifecycle' }),
  'tck-artifact-file-url': done({
    url: 'https://example.com/output.txt',
    filename: 'output.txt',
    mediaType: 'text/plain',
  }),
  'tck-artifact-file': done(file),
  'tck-artifact-text': done({ text: 'Generated text content' }),
  'tck-artifact-data': done({ data: { key: 'value', count: 42 } }),
  'tck-message-response': { message: text('Direct message response') },
  unreadable: { task: { status: 'none' } },
  'tck-input-required': task('INPUT_REQUIRED'),
  'tck-reject-task': task('REJECTED', {}),
  'tck-complete-task': {
    task: { status: { state: 'TASK_STATE_COMPLETED', message: text('Hello from TCK') } },
  },
}

let prompt = ''
for await (const piece of process.stdin) prompt += piece
const [, id = ''] = [...prompt.matchAll(/⟦([^⟧]*)⟧/g)].at(-1) ?? []
const isSlow = id.startsWith('test-resubscribe-message-id')
if (isSlow) await new Promise(resolve => setTimeout(resolve, 4_000))
const known = Object.entries(answers).find(([beginning]) => id.startsWith(beginning))
const other = { task: { status: { state: 'TASK_STATE_COMPLETED', message: text(`no scenario for ${id}`) } } }
process.stdout.write(JSON.stringify({ a2a: known?.[1] ?? other }))
