# SPDX-License-Identifier: Apache-2.0
#
# binade.torch.watch on small models of the usual kinds: every figure of every layer and step against tensors that the models
# and loops below hand over themselves (watch_oracle.py). It runs in the interpreter that has torch (Debian's python3-torch). SKIP
# without it.
# watch_models_test.py BINADE
import sys

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

from cli_case import CliCase, main
from watch_oracle import check_sums, every_parameter, judge, nothing, through

STEPS = 6


class Block(nn.Module):
    """A layer of a GPT; attention is torch's or written out."""

    def __init__(self, width, heads, written_out):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        if written_out:
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width, bias=False)
        else:
            self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.drop = nn.Dropout(0.1)

    def attention(self, x, name, see):
        """A sequence's own past."""
        future = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        if not self.written_out:
            out, weights = self.attn(x, x, x, attn_mask=future)
            see(f"{name}.attn.attn_weights", weights)
            return see(f"{name}.attn", out)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in see(f"{name}.qkv", self.qkv(x)).chunk(3, 2))
        scores = (q @ k.transpose(2, 3) / q.shape[3] ** 0.5).masked_fill(future, -torch.inf)
        return see(f"{name}.proj", self.proj((scores.softmax(3) @ v).transpose(1, 2).flatten(2)))

    def forward(self, x, name="", see=nothing):
        x = x + self.attention(see(f"{name}.ln1", self.ln1(x)), name, see)
        h = through(self.mlp, f"{name}.mlp", see(f"{name}.ln2", self.ln2(x)), see)
        return see(name, x + see(f"{name}.drop", self.drop(h)))


class Gpt(nn.Module):
    def __init__(self, letters=11, length=6, width=8, heads=2):
        super().__init__()
        self.wte = nn.Embedding(letters, width)
        self.pos_emb = nn.Parameter(0.02 * torch.randn(length, width))
        self.h = nn.ModuleList([Block(width, heads, False), Block(width, heads, True)])
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)

    def forward(self, tokens, see=nothing):
        x = see("wte", self.wte(tokens[:, :-1])) + self.pos_emb
        for at, block in enumerate(self.h):
            x = block(x, f"h.{at}", see)
        logits = see("head", self.head(see("ln_f", self.ln_f(x))))
        return logits, see("Gpt.1", F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()))


class BasicBlock(nn.Module):
    """A residual block as torchvision has it: one ReLU for both calls, in place, as is the sum."""

    def __init__(self, channels, out, stride, in_place):
        super().__init__()
        self.in_place = in_place
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(in_place)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.downsample = nn.Identity() if channels == out else nn.Sequential(
            nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x, name="", see=nothing):
        out = see(f"{name}.bn1", self.bn1(see(f"{name}.conv1", self.conv1(x))))
        out = see(f"{name}.relu", self.relu(out))
        out = see(f"{name}.bn2", self.bn2(see(f"{name}.conv2", self.conv2(out))))
        # An Identity gives what was seen before.
        identity = x if isinstance(self.downsample, nn.Identity) else through(self.downsample, f"{name}.downsample", x, see)
        if self.in_place:
            out += identity
        else:
            out = out + identity
        return see(f"{name}.relu", self.relu(out))


class ResNet(nn.Module):
    """in_place changes no value; without it every tensor stays as it was, so that it can be read later."""

    def __init__(self, in_place):
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(in_place)
        self.layer1 = nn.ModuleList([BasicBlock(4, 4, 1, in_place), BasicBlock(4, 6, 2, in_place)])
        self.avgpool, self.flatten, self.fc = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5)

    def forward(self, x, see=nothing):
        x = see("relu", self.relu(see("bn1", self.bn1(see("conv1", self.conv1(x))))))
        for at, block in enumerate(self.layer1):
            x = block(x, f"layer1.{at}", see)
        return see("fc", self.fc(see("flatten", self.flatten(see("avgpool", self.avgpool(x))))))


class LstmClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, 5, padding_idx=0)
        self.lstm = nn.LSTM(5, 4, num_layers=2, bidirectional=True, proj_size=3, batch_first=True)
        self.gru = nn.GRU(6, 4, batch_first=True)
        self.rnn = nn.RNN(4, 3, bias=False, batch_first=True)
        self.fc = nn.Linear(6, 4)

    def forward(self, words, see=nothing):
        out, (h_n, c_n) = self.lstm(see("emb", self.emb(words)))
        out, h_n, _ = see("lstm", out), see("lstm.h_n", h_n), see("lstm.c_n", c_n)
        out, last = self.gru(out)
        out, _ = see("gru", out), see("gru.h_n", last)
        out, last = self.rnn(out)
        see("rnn", out)
        return see("fc", self.fc(torch.cat([see("rnn.h_n", last)[-1], h_n.mean(0)], 1)))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.act, self.out = nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)

    def forward(self, z, see=nothing):
        h = see("G.act", self.act(see("G.fc1", self.fc1(z))))
        return see("G", torch.tanh(see("G.out", self.out(h))))


def train_gpt(loop, watching):
    """As people write it: dropout, clipped gradients, a schedule, a validation loss every other step."""
    model = Gpt()
    thirds = {letter: slice(8 * at, 8 * at + 8) for at, letter in enumerate("qkv")}
    parameters = every_parameter(model, parts={
        "h.0.attn.in_proj_" + kind: [(f"h.0.attn.{letter}{end}", lambda x, rows=rows: x[rows])
                                     for letter, rows in thirds.items()]
        for kind, end in (("weight", ""), ("bias", ".bias"))})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    tokens = torch.randint(0, 11, (STEPS, 3, 7))
    with watching(model, optimizer):
        for step in range(STEPS):
            if step % 2 == 0:
                model.eval()
                with torch.no_grad():
                    model(tokens[0])
                model.train()
            optimizer.zero_grad(set_to_none=True)
            _, loss = model(tokens[step], loop.see)
            loss.backward()
            loop.gradients()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            loop.step(optimizer, parameters)
            schedule.step()
            loop.end(model, optimizer, loss)


def train_resnet(loop, watching):
    model = ResNet(in_place=not loop.by_hand)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)
    images, classes = torch.randn(STEPS, 4, 3, 8, 8), torch.randint(0, 5, (STEPS, 4))
    with watching(model, optimizer):
        for x, y in zip(images, classes):
            loss = F.cross_entropy(model(x, loop.see), y)
            optimizer.zero_grad()
            loss.backward()
            loop.gradients()
            loop.step(optimizer, every_parameter(model))
            loop.end(model, optimizer, loss)


def train_lstm(loop, watching):
    """The optimizer is found by the watch."""
    model = LstmClassifier()
    parts = {}
    for rnn, layers in (("lstm", 2), ("gru", 1), ("rnn", 1)):
        for at in range(layers):
            for end, direction in (("", ""), ("_reverse", ".reverse")):
                for weight, what in (("ih", "input"), ("hh", "hidden"), ("hr", "projection")):
                    layer = f"{rnn}.{at}{direction}.{what}"
                    parts[f"{rnn}.weight_{weight}_l{at}{end}"] = [(layer, lambda x: x)]
                    parts[f"{rnn}.bias_{weight}_l{at}{end}"] = [(layer + ".bias", lambda x: x)]
    parameters = every_parameter(model, parts=parts)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, amsgrad=True)
    words, classes = torch.randint(0, 9, (STEPS, 4, 5)), torch.randint(0, 4, (STEPS, 4))
    with watching(model, also=[optimizer]):
        for x, y in zip(words, classes):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x, loop.see), y)
            loss.backward()
            loop.gradients()
            loop.step(optimizer, parameters)
            loop.end(model, optimizer, loss)


def train_gan(loop, watching):
    """Two models and optimizers; the discriminator sees three batches a step, and the generator's loss reaches it, too."""
    g, d = Generator(), nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2, inplace=not loop.by_hand), nn.Linear(8, 1))
    parameters = every_parameter(g, "G.") + every_parameter(d, "D.")
    of_g, of_d = torch.optim.RMSprop(g.parameters(), lr=1e-3, momentum=0.5), torch.optim.Adam(d.parameters(), lr=1e-2)
    real, noise = torch.randn(STEPS, 6, 2) + 2, torch.randn(STEPS, 6, 3)
    one, zero = torch.ones(6, 1), torch.zeros(6, 1)

    def judged(x, wanted):
        loss = F.binary_cross_entropy_with_logits(through(d, "D", x, loop.see), wanted)
        loss.backward()
        loop.gradients()
        return loss

    with watching({"G": g, "D": d}, [of_d, of_g]):
        for x, z in zip(real, noise):
            fake = g(z, loop.see)
            of_d.zero_grad()
            losses = [judged(x, one), judged(fake.detach(), zero)]
            loop.step(of_d, parameters)
            of_g.zero_grad()
            losses.append(judged(fake, one))
            loop.step(of_g, parameters)
            loop.end(g, d, of_g, of_d, *losses)


class Models(CliCase):
    def holds(self, train, layers, every=1):
        """layers: some that the dump must have by itself, with their roles and how many arrays' worth of steps."""
        dump, w = judge(self, train, every=every)
        self.assertEqual([(one.first, one.last, one.steps) for one in w.windows],
                         [(step, step, 1) for step in range(0, STEPS, every)])
        keys = {(layer, role) for _, layer, role in dump.arrays}
        self.assertEqual(set(layers) - keys, set(), "the dump itself lacks these")
        check_sums(self, w.report(), dump.arrays)
        return keys

    def test_every_figure_of_a_gpt(self):
        keys = self.holds(train_gpt, [
            ("wte", "act"), ("pos_emb", "dW"), ("h.0.attn", "dAct"), ("h.0.attn.attn_weights", "act"), ("h.0.attn.q", "dW"),
            ("h.0.attn.v.bias", "update"), ("h.0.attn.k.exp_avg", "state"), ("h.0.attn.out_proj", "weight"),
            ("h.1.qkv.bias.exp_avg_sq", "state"), ("h.1.drop", "dAct"), ("Gpt.1", "dAct"), ("ln_f", "update")], every=2)
        self.assertFalse({("Gpt", "act"), ("h.0.mlp", "act"), ("h.0.attn.attn_weights", "dAct"), ("wte.step", "state")} & keys)

    def test_every_figure_of_a_resnet_that_writes_in_place(self):
        keys = self.holds(train_resnet, [
            ("bn1", "act"), ("relu", "dAct"), ("layer1.0.bn2", "dAct"), ("layer1.0.relu", "act"),
            ("layer1.1.downsample.1", "dAct"), ("flatten", "act"), ("layer1.1.downsample.0", "dW"),
            ("bn1.bias.momentum_buffer", "state"), ("fc.bias", "dW")])
        self.assertFalse({("layer1.0", "act"), ("layer1.0.downsample", "act"), ("ResNet", "act")} & keys)

    def test_every_figure_of_recurrent_layers(self):
        keys = self.holds(train_lstm, [
            ("lstm", "dAct"), ("lstm.h_n", "dAct"), ("lstm.c_n", "act"), ("lstm.1.reverse.projection", "dW"),
            ("gru", "act"), ("lstm.0.hidden.bias.max_exp_avg_sq", "state"), ("gru.0.input", "update"),
            ("rnn.0.hidden", "weight"), ("emb", "dW")])
        self.assertFalse({("lstm.c_n", "dAct"), ("LstmClassifier", "act")} & keys)

    def test_every_figure_of_a_gan(self):
        keys = self.holds(train_gan, [
            ("G", "dAct"), ("G.out", "act"), ("D.1", "dAct"), ("D.2.bias.exp_avg", "state"), ("D.0", "dW"),
            ("G.fc1.bias", "update"), ("G.act", "dAct"), ("G.out.square_avg", "state")])
        self.assertFalse({("D", "act")} & keys)


if __name__ == "__main__":
    main()
