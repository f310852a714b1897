/** How a conversation of a guest looks, beside the style of all pages. */
export const GUEST_STYLE = `
:root{--mine:#dcebfa;--warn:#7a5200}
@media (prefers-color-scheme:dark){:root{--mine:#1d3a57;--warn:#e0b354}}
main{display:flex;flex-direction:column;min-height:100vh;min-height:100dvh;padding-bottom:0}
[hidden]{display:none!important}
select,textarea{font:inherit;padding:.45rem .7rem;border:1px solid var(--line);border-radius:6px;background:var(--paper);color:var(--ink)}
#choice{display:flex;gap:.5rem;align-items:baseline}
select{flex:1 1 auto;min-width:0;max-width:24rem}
textarea{display:block;width:100%;max-height:40vh;resize:vertical}
#log{flex:1 1 auto;margin:1rem 0 0}
#log ol{list-style:none;margin:0;padding:0}
#log li{border:1px solid var(--line);border-radius:10px;padding:.5rem .75rem;margin:0 0 .75rem;max-width:90%;width:fit-content}
#log .you{background:var(--mine);border-color:transparent;margin-left:auto}
#log .agent{background:var(--tint)}
#log .note{border:0;padding:0;margin-inline:auto;color:var(--soft);text-align:center}
#log p{margin:0}
.by{font-size:13px;color:var(--soft)}
.you .by{color:inherit}
.words{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
.with{font-size:13px;overflow-wrap:anywhere}
#with{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;justify-content:space-between;margin:.5rem 0}
#who{margin:0;overflow-wrap:anywhere}
#asked,#over{border:1px solid var(--line);border-left:4px solid var(--warn);border-radius:6px;padding:.75rem 1rem;margin:1rem 0 0}
#over h2{margin:0 0 .5rem}
#asked p{margin:0 0 .5rem}
#foot{position:sticky;bottom:0;background:var(--paper);border-top:1px solid var(--line);margin-top:1rem;padding:.5rem 0 .75rem}
#status{margin:0;overflow-wrap:anywhere}
#status:not(:empty){margin-bottom:.5rem}
#status.wrong{color:var(--warn)}
#compose{display:block}
#compose label[for=text]{font-size:14px;color:var(--soft)}
#files{margin:.5rem 0 0}
#files li{display:flex;gap:.75rem;align-items:center;justify-content:space-between;padding:.35rem 0;font-size:14px}
.row{display:flex;gap:.5rem;flex-wrap:wrap;margin-top:.5rem}
#attach{position:absolute;opacity:0;width:1px;height:1px;flex:none;padding:0}
button,.button{cursor:pointer;flex:none;white-space:nowrap;background:var(--paper);color:var(--ink)}
button:hover,.button:hover{border-color:var(--link)}
#send{background:var(--link);border-color:var(--link);color:var(--paper);padding-inline:1.25rem}
[aria-disabled=true]{opacity:.6;cursor:default}
#attach:focus-visible+.button{outline:2px solid var(--link);outline-offset:2px}
#hint{font-size:13px;margin:.5rem 0 0}
#left{color:var(--ink)}
@media (pointer:coarse){.keys{display:none}}
@media (max-height:32rem){#foot{position:static}}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
`
