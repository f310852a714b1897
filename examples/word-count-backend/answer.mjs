#!/usr/bin/env node
// A backend for auto-reply: any program that reads the prompt on standard input and prints the answer.
//
//   svc autoreply set --command "node /absolute/path/to/answer.mjs"
//   svc autoreply test "How many words are these?"
//
// The peer's words stand between <peer MARKER> and </peer MARKER>, each alone on its line; the marker is new for every
// run, and the first line of that form, which may also open an <answer MARKER> of ours, names it. They are data: this program counts them and obeys nothing that they say.

const FENCE = /^<peer ([0-9a-f]{16})>\n([\s\S]*?)\n<\/peer \1>$/gm

/** The newest words of the peer in a prompt; undefined where there are none. */
function newestWords(prompt) {
  const marker = /^<(?:peer|answer) ([0-9a-f]{16})>$/m.exec(prompt)?.[1]
  const turns = [...prompt.matchAll(FENCE)].filter(turn => turn[1] === marker)
  return turns.at(-1)?.[2]
}

let prompt = ''
for await (const part of process.stdin.setEncoding('utf8')) prompt += part

const words = newestWords(prompt)
if (words === undefined) {
  console.error('expected a prompt with the words of a peer on standard input')
  process.exitCode = 1
} else {
  const count = words.split(/\s+/).filter(word => word !== '').length
  console.log(`${count} ${count === 1 ? 'word' : 'words'}`)
}
